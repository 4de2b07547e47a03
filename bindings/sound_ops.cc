// Transforms of sound in Python: conversion only; python/penstock/_sound_ops.py is what users see.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "bindings.h"
#include "borrowed.h"
#include "errors.h"
#include "image_request.h"
#include "media/results.h"
#include "native_op.h"
#include "penstock/tensor.h"
#include "released.h"
#include "tensor_export.h"
#include "tensor_import.h"
#include "transform/sound_op.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

const std::map<std::string_view, SoundWindow> kWindows = {
    {"hann", SoundWindow::hann}, {"hamming", SoundWindow::hamming}, {"ones", SoundWindow::ones}};
const std::map<std::string_view, SoundPad> kPads = {{"constant", SoundPad::constant},
                                                    {"reflect", SoundPad::reflect}};
const std::map<std::string_view, BinValue> kValues = {
    {"complex", BinValue::complex}, {"magnitude", BinValue::magnitude}, {"power", BinValue::power}};
const std::map<std::string_view, SoundPlace> kPlaces = {{"start", SoundPlace::start},
                                                        {"center", SoundPlace::centre},
                                                        {"end", SoundPlace::end},
                                                        {"random", SoundPlace::random}};

// The number of the random op; it is part of what a seed means.
constexpr std::uint32_t kFixLength = 5;

// The samples of an array. Those that do not lie side by side are copied to `copy` first.
Result<SoundView> sound_in(const Tensor& array, Tensor& copy) {
  const bool flat = array.rank() == 1;
  if (array.dtype() != DType::float32 || (!flat && array.rank() != 2)) {
    return Error(Code::invalid_argument,
                 "a sound is a float32 array of shape (samples,) or (channels, samples), not " +
                     std::string(name_of(array.dtype())) + " of shape " +
                     array.shape().to_string());
  }
  if (!array.is_contiguous()) {
    Result<Tensor> cloned = array.clone();
    if (!cloned) return std::move(cloned).error();
    copy = *std::move(cloned);
  }
  const Tensor& used = array.is_contiguous() ? array : copy;
  return SoundView{used.data<float>(), flat ? 1 : array.shape()[0],
                   flat ? array.shape()[0] : array.shape()[1]};
}

Result<Dims> shape_of(const SoundOp& op, const Tensor& array, const SoundView& sound) {
  Result<Dims> one = op.result(sound.samples);
  if (!one || array.rank() == 1) return one;
  std::vector<std::int64_t> all = {sound.channels};
  all.insert(all.end(), one->begin(), one->end());
  return Dims(std::span<const std::int64_t>(all));
}

Result<Tensor> transformed(const SoundOp& op, const Tensor& array, RandomStream random) {
  Tensor copy;
  const Result<SoundView> sound = sound_in(array, copy);
  if (!sound) return sound.error();
  const Result<Dims> shape = shape_of(op, array, *sound);
  if (!shape) return shape.error();
  Result<Tensor> out = Tensor::empty(media::result_pool(), DType::float32, *shape);
  if (!out) return out;
  if (Status done = op.apply(*sound, random, out->data<float>()); !done) {
    return std::move(done).error();
  }
  return out;
}

NativeOp native_op(Result<SoundOp> made, const RandomKey& key = RandomKey(0, 0)) {
  const auto op = std::make_shared<const SoundOp>(must(std::move(made)));
  NativeOp native;
  native.name = op->name;
  native.takes_tensors = true;
  native.random = op->random;
  native.on_array = [op](const Tensor& array, RandomStream random) {
    return transformed(*op, array, random);
  };
  native.step = [op, key](Context& ctx) {
    const Tensor* array = tensor_in(ctx.item());
    if (array == nullptr) {
      return ctx.fail(Error(Code::invalid_argument, op->name + " takes arrays"));
    }
    Result<Tensor> out = transformed(*op, *array, RandomStream(key, ctx.position(), kFixLength));
    if (!out) return ctx.fail(std::move(out).error());
    ctx.emit(Item::of(*std::move(out)));
    return Step::done;
  };
  native.alone = [op, key](nb::handle sound, std::optional<std::uint64_t> position,
                           nb::object out) -> nb::object {
    if (!out.is_none()) {
      raise(Error(Code::invalid_argument, op->name + " makes an array of its own: leave out out="));
    }
    const RandomStream random = stream_at(key, position, kFixLength, op->random);
    const Tensor array = tensor_of(sound);
    std::optional<Result<Tensor>> made;
    {
      const Released released;
      made.emplace(transformed(*op, array, random));
    }
    return to_numpy(nb::cast(must(*std::move(made))), nb::none(), nb::none());
  };
  return native;
}

StftSpec stft_of(std::int64_t n_fft, std::int64_t hop, std::int64_t window_length,
                 std::string_view window, bool centre, std::string_view pad) {
  return {n_fft,         hop,
          window_length, named(kWindows, window, "window"),
          centre,        named(kPads, pad, "pad_mode")};
}

}  // namespace

void bind_sound_ops(nb::module_& m) {
  m.def(
      "stft_op",
      [](std::int64_t n_fft, std::int64_t hop, std::int64_t window_length, std::string_view window,
         bool centre, std::string_view pad, std::string_view output) {
        return native_op(stft_op(stft_of(n_fft, hop, window_length, window, centre, pad),
                                 named(kValues, output, "output")));
      },
      "n_fft"_a, "hop"_a, "window_length"_a, "window"_a, "centre"_a, "pad"_a, "output"_a);
  m.def(
      "mel_spectrogram_op",
      [](std::int64_t n_fft, std::int64_t hop, std::int64_t window_length, std::string_view window,
         bool centre, std::string_view pad, std::string_view value, double sample_rate,
         std::int64_t mels, double low, double high, bool htk, bool slaney, bool decibels,
         double reference, double least, std::optional<double> range) {
        std::optional<DecibelSpec> spec;
        if (decibels) spec = DecibelSpec{reference, least, range};
        return native_op(mel_op(stft_of(n_fft, hop, window_length, window, centre, pad),
                                named(kValues, value, "power"),
                                {sample_rate, mels, low, high, htk, slaney}, spec));
      },
      "n_fft"_a, "hop"_a, "window_length"_a, "window"_a, "centre"_a, "pad"_a, "value"_a,
      "sample_rate"_a, "mels"_a, "low"_a, "high"_a, "htk"_a, "slaney"_a, "decibels"_a,
      "reference"_a, "least"_a, "range"_a.none());
  m.def(
      "fix_length_op",
      [](std::int64_t samples, std::string_view place, float fill, std::uint64_t seed,
         std::uint64_t epoch) {
        return native_op(fix_length_op(samples, named(kPlaces, place, "place"), fill),
                         RandomKey(seed, epoch));
      },
      "samples"_a, "place"_a, "fill"_a, "seed"_a, "epoch"_a);
  m.def(
      "gain_op", [](double decibels) { return native_op(gain_op(decibels)); }, "decibels"_a);
}

}  // namespace penstock::bindings
