// Transforms in Python: conversion only; python/penstock/ops.py is what users see.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.h"
#include "borrowed.h"
#include "errors.h"
#include "image_request.h"
#include "native_op.h"
#include "penstock/tensor.h"
#include "released.h"
#include "tensor_export.h"
#include "tensor_import.h"
#include "transform/image_op.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

const std::map<std::string_view, Colour> kColours = {{"L", Colour::l},       {"LA", Colour::la},
                                                     {"RGB", Colour::rgb},   {"RGBA", Colour::rgba},
                                                     {"CMYK", Colour::cmyk}, {"BGR", Colour::bgr}};
const std::map<std::string_view, PadMode> kPadModes = {
    {"constant", PadMode::constant}, {"edge", PadMode::edge}, {"reflect", PadMode::reflect}};
const std::map<std::string_view, ImageLayout> kLayouts = {{"HWC", ImageLayout::hwc},
                                                          {"CHW", ImageLayout::chw}};
const std::map<std::string_view, bool> kDirections = {{"horizontal", false}, {"vertical", true}};

// The pixels of an array. Those that do not lie side by side are copied to `copy` first.
Result<ConstImageView> image_in(const Tensor& array, Tensor& copy) {
  const Dims& shape = array.shape();
  const bool flat = array.rank() == 2;
  if (array.dtype() != DType::uint8 || (!flat && array.rank() != 3)) {
    return Error(Code::invalid_argument,
                 "an image is a uint8 array of shape (height, width) or (height, width, channels), "
                 "not " +
                     std::string(name_of(array.dtype())) + " of shape " + shape.to_string());
  }
  const std::int64_t channels = flat ? 1 : shape[2];
  if (channels < 1 || channels > 4) {
    return Error(Code::invalid_argument, "an image has 1 to 4 channels, not " +
                                             std::to_string(channels) + ": its shape is " +
                                             shape.to_string());
  }
  const Dims& strides = array.strides();
  const bool side_by_side =
      (shape[1] <= 1 || strides[1] == channels) && (flat || channels == 1 || strides[2] == 1);
  if (!side_by_side) {
    Result<Tensor> cloned = array.clone();
    if (!cloned) return std::move(cloned).error();
    copy = *std::move(cloned);
  }
  const Tensor& used = side_by_side ? array : copy;
  return ConstImageView{used.data<std::uint8_t>(), shape[0], shape[1], int(channels),
                        std::ptrdiff_t(used.strides()[0])};
}

bool overlap(const ConstImageView& image, const GivenArray& out) {
  const auto address = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at); };
  const std::uintptr_t first = address(image.row(0)), last = address(image.row(image.height - 1));
  const std::uintptr_t end = std::max(first, last) + std::uintptr_t(image.used_row_bytes());
  return std::min(first, last) < address(out.data()) + out.size() && address(out.data()) < end;
}

Result<Tensor> transformed(const ImageOp& op, const Tensor& array, RandomStream random) {
  Tensor copy;
  const Result<ConstImageView> image = image_in(array, copy);
  if (!image) return image.error();
  const Result<ImageOp::Result> made = op.result(*image);
  if (!made) return made.error();
  Result<Tensor> out = Tensor::empty(made->type, made->shape);
  if (!out) return out;
  if (Status done = op.apply(*image, random, out->raw()); !done) return std::move(done).error();
  return out;
}

Status transform_into(const ImageOp& op, const Tensor& array, RandomStream random, nb::handle out) {
  Tensor copy;
  const ConstImageView image = must(image_in(array, copy));
  const ImageOp::Result made = must(op.result(image));
  const GivenArray given(out, made.type, made.shape);
  if (overlap(image, given)) {
    raise(Error(Code::invalid_argument, "out must not share memory with the image"));
  }
  const Released released;
  return op.apply(image, random, given.data());
}

// `operation` keeps the numbers of different kinds of ops apart.
NativeOp native_op(ImageOp made, const RandomKey& key = RandomKey(0, 0),
                   std::uint32_t operation = 0) {
  const auto op = std::make_shared<const ImageOp>(std::move(made));
  NativeOp native;
  native.name = op->name;
  native.takes_tensors = true;
  native.random = op->random;
  native.on_array = [op](const Tensor& array, RandomStream random) {
    return transformed(*op, array, random);
  };
  native.step = [op, key, operation](Context& ctx) {
    const Tensor* array = tensor_in(ctx.item());
    if (array == nullptr) {
      return ctx.fail(Error(Code::invalid_argument, op->name + " takes arrays"));
    }
    Result<Tensor> out = transformed(*op, *array, RandomStream(key, ctx.position(), operation));
    if (!out) return ctx.fail(std::move(out).error());
    ctx.emit(Item::of(*std::move(out)));
    return Step::done;
  };
  native.alone = [op, key, operation](nb::handle image, std::optional<std::uint64_t> position,
                                      nb::object out) {
    const RandomStream random = stream_at(key, position, operation, op->random);
    const Tensor array = tensor_of(image);
    if (!out.is_none()) {
      must(transform_into(*op, array, random, out));
      return out;
    }
    std::optional<Result<Tensor>> made;
    {
      const Released released;
      made.emplace(transformed(*op, array, random));
    }
    return to_numpy(nb::cast(must(*std::move(made))), nb::none(), nb::none());
  };
  return native;
}

NativeOp native_op(Result<ImageOp> made) {
  return native_op(must(std::move(made)));
}

// The numbers of the random ops; they are part of what a seed means.
enum Operation : std::uint32_t { resized_crop = 1, plain_crop, flip, jitter };

Size size_of(const SizeTuple& size) {
  return {std::get<0>(size), std::get<1>(size)};
}

using EdgesTuple = std::tuple<double, double, double, double>;

NativeOp resize(std::optional<SizeTuple> size, std::int64_t short_side,
                std::string_view interpolation, std::optional<EdgesTuple> edges) {
  const Filter filter = named(kFilters, interpolation, "interpolation");
  if (!size) return native_op(resize_short_op(short_side, filter));
  std::optional<Box> box;
  if (edges) {
    const auto [left, top, right, bottom] = *edges;
    box = Box{left, top, right, bottom};
  }
  return native_op(resize_op(size_of(*size), filter, box));
}

NativeOp pad(const BoxTuple& sides, std::string_view mode, const std::vector<int>& fill) {
  PadSpec spec;
  std::tie(spec.left, spec.top, spec.right, spec.bottom) = sides;
  spec.mode = named(kPadModes, mode, "mode");
  if (fill.empty() || fill.size() > 4) {
    raise(Error(Code::invalid_argument, "fill must be one value, or one for each channel"));
  }
  for (std::size_t c = 0; c < 4; ++c) {
    const int value = fill[std::min(c, fill.size() - 1)];
    if (value < 0 || value > 255) {
      raise(Error(Code::invalid_argument, "fill must be 0 to 255, got " + std::to_string(value)));
    }
    spec.fill[c] = static_cast<std::uint8_t>(value);
  }
  return native_op(pad_op(spec));
}

NativeOp convert(std::string_view mode, std::optional<std::string_view> source) {
  std::optional<Colour> from;
  if (source) from = named(kColours, *source, "source");
  return native_op(convert_op(named(kColours, mode, "mode"), from));
}

NativeOp normalize(const std::vector<double>& mean, const std::vector<double>& std,
                   std::string_view dtype, std::string_view layout) {
  return native_op(
      normalize_op(must(dtype_named(dtype)), named(kLayouts, layout, "layout"), mean, std));
}

NativeOp random_resized_crop(const SizeTuple& size, std::pair<double, double> scale,
                             std::pair<double, double> ratio, std::string_view interpolation,
                             std::uint64_t seed, std::uint64_t epoch) {
  return native_op(must(random_resized_crop_op(
                       size_of(size), {scale.first, scale.second, ratio.first, ratio.second},
                       named(kFilters, interpolation, "interpolation"))),
                   RandomKey(seed, epoch), Operation::resized_crop);
}

}  // namespace

void bind_transform(nb::module_& m) {
  bind_tensor_import(m);
  m.def("resize_op", &resize, "size"_a.none(), "short_side"_a, "interpolation"_a, "box"_a.none());
  m.def(
      "crop_op", [](const BoxTuple& box) { return native_op(crop_op(rect_of(box))); }, "box"_a);
  m.def(
      "center_crop_op",
      [](const SizeTuple& size) { return native_op(center_crop_op(size_of(size))); }, "size"_a);
  m.def("pad_op", &pad, "sides"_a, "mode"_a, "fill"_a);
  m.def(
      "flip_op",
      [](std::string_view direction) {
        return native_op(flip_op(named(kDirections, direction, "direction")));
      },
      "direction"_a);
  m.def(
      "rotate90_op", [](int turns) { return native_op(rotate90_op(turns)); }, "turns"_a);
  m.def("convert_op", &convert, "mode"_a, "source"_a.none());
  m.def("grayscale_op", [] { return native_op(grayscale_op()); });
  m.def(
      "brightness_op", [](double factor) { return native_op(brightness_op(factor)); }, "factor"_a);
  m.def(
      "contrast_op", [](double factor) { return native_op(contrast_op(factor)); }, "factor"_a);
  m.def(
      "saturation_op", [](double factor) { return native_op(saturation_op(factor)); }, "factor"_a);
  m.def("normalize_op", &normalize, "mean"_a, "std"_a, "dtype"_a, "layout"_a);
  m.def("random_resized_crop_op", &random_resized_crop, "size"_a, "scale"_a, "ratio"_a,
        "interpolation"_a, "seed"_a, "epoch"_a);
  m.def(
      "random_crop_op",
      [](const SizeTuple& size, std::uint64_t seed, std::uint64_t epoch) {
        return native_op(must(random_crop_op(size_of(size))), RandomKey(seed, epoch),
                         Operation::plain_crop);
      },
      "size"_a, "seed"_a, "epoch"_a);
  m.def(
      "random_flip_op",
      [](double probability, std::string_view direction, std::uint64_t seed, std::uint64_t epoch) {
        return native_op(
            must(random_flip_op(probability, named(kDirections, direction, "direction"))),
            RandomKey(seed, epoch), Operation::flip);
      },
      "probability"_a, "direction"_a, "seed"_a, "epoch"_a);
  m.def(
      "color_jitter_op",
      [](double brightness, double contrast, double saturation, std::uint64_t seed,
         std::uint64_t epoch) {
        return native_op(must(color_jitter_op({brightness, contrast, saturation})),
                         RandomKey(seed, epoch), Operation::jitter);
      },
      "brightness"_a, "contrast"_a, "saturation"_a, "seed"_a, "epoch"_a);
}

}  // namespace penstock::bindings
