// SoundOp: a transform of sound as a value; ImageOp's sister. An op takes float32 samples, one
// channel after the other, and fills memory that the caller provides once result() has said how
// much.
//
// Thread safety: an op does not change once it is made; any number of threads may use one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "penstock/error.h"
#include "penstock/random.h"
#include "penstock/tensor.h"
#include "transform/spectrogram.h"

namespace penstock {

struct SoundView {
  const float* data = nullptr;
  std::int64_t channels = 1, samples = 0;
};

struct SoundOp {
  std::string name;
  bool random = false;
  // The shape of one channel of the result.
  std::function<Result<Dims>(std::int64_t samples)> result;
  // `out` has room for that for each channel and does not overlap the sound.
  std::function<Status(const SoundView& sound, RandomStream& random, float* out)> apply;
};

// Bins x frames, complex values as (bins, frames, 2).
Result<SoundOp> stft_op(const StftSpec& stft, BinValue value);
// Mels x frames.
Result<SoundOp> mel_op(const StftSpec& stft, BinValue value, const MelSpec& mel,
                       std::optional<DecibelSpec> decibel);

// Where a part is cut out of what is too long. What is too short is filled up at its end; for
// `centre` at both ends.
enum class SoundPlace : std::uint8_t { start, centre, end, random };
Result<SoundOp> fix_length_op(std::int64_t samples, SoundPlace place, float fill);

// Louder or softer by so many decibels.
Result<SoundOp> gain_op(double decibels);

}  // namespace penstock
