#include "transform/sound_op.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace penstock {
namespace {

SoundOp spectrogram_op(std::string name, std::shared_ptr<const Spectrogram> made) {
  SoundOp op;
  op.name = std::move(name);
  op.result = [made](std::int64_t samples) -> Result<Dims> {
    const Result<std::int64_t> frames = made->frames(samples);
    if (!frames) return frames.error();
    if (made->values() == 2) return Dims{made->rows(), *frames, 2};
    return Dims{made->rows(), *frames};
  };
  op.apply = [made](const SoundView& sound, RandomStream&, float* out) -> Status {
    const Result<std::int64_t> frames = made->frames(sound.samples);
    if (!frames) return frames.error();
    const std::int64_t size = made->rows() * *frames * made->values();
    for (std::int64_t c = 0; c < sound.channels; ++c) {
      made->run(sound.data + c * sound.samples, sound.samples, *frames, out + c * size);
    }
    return {};
  };
  return op;
}

}  // namespace

Result<SoundOp> stft_op(const StftSpec& stft, BinValue value) {
  if (Status fine = check(stft); !fine) return std::move(fine).error();
  return spectrogram_op(
      "stft", std::make_shared<const Spectrogram>(stft, value, std::nullopt, std::nullopt));
}

Result<SoundOp> mel_op(const StftSpec& stft, BinValue value, const MelSpec& mel,
                       std::optional<DecibelSpec> decibel) {
  if (Status fine = check(stft); !fine) return std::move(fine).error();
  if (Status fine = check(mel); !fine) return std::move(fine).error();
  if (decibel) {
    if (Status fine = check(*decibel); !fine) return std::move(fine).error();
  }
  return spectrogram_op("mel_spectrogram",
                        std::make_shared<const Spectrogram>(stft, value, mel, decibel));
}

Result<SoundOp> fix_length_op(std::int64_t samples, SoundPlace place, float fill) {
  if (samples < 1) return Error(Code::invalid_argument, "length must be 1 or more");
  SoundOp op;
  op.name = "fix_length";
  op.random = place == SoundPlace::random;
  op.result = [samples](std::int64_t) -> Result<Dims> { return Dims{samples}; };
  op.apply = [samples, place, fill](const SoundView& sound, RandomStream& random, float* out) {
    const std::int64_t over = sound.samples - samples;
    const std::int64_t room = std::abs(over);
    std::int64_t shift = 0;
    if (place == SoundPlace::centre) shift = room / 2;
    if (over > 0 && place == SoundPlace::end) shift = room;
    if (over > 0 && place == SoundPlace::random) {
      shift = std::int64_t(random.below(std::uint64_t(over) + 1));
    }
    const std::int64_t kept = std::min(sound.samples, samples);
    for (std::int64_t c = 0; c < sound.channels; ++c) {
      const float* const from = sound.data + c * sound.samples + (over > 0 ? shift : 0);
      float* const to = out + c * samples;
      float* const begin = std::fill_n(to, over > 0 ? 0 : shift, fill);
      std::fill(std::copy_n(from, kept, begin), to + samples, fill);
    }
    return Status();
  };
  return op;
}

Result<SoundOp> gain_op(double decibels) {
  if (!(std::abs(decibels) <= 200)) {
    return Error(Code::invalid_argument, "gain must be -200 to 200 decibels");
  }
  const float factor = float(std::pow(10.0, decibels / 20.0));
  SoundOp op;
  op.name = "gain";
  op.result = [](std::int64_t samples) -> Result<Dims> { return Dims{samples}; };
  op.apply = [factor](const SoundView& sound, RandomStream&, float* out) {
    const std::int64_t count = sound.channels * sound.samples;
    for (std::int64_t i = 0; i < count; ++i) out[i] = sound.data[i] * factor;
    return Status();
  };
  return op;
}

}  // namespace penstock
