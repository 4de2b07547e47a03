// Which samples of a sound a part is, and how many they become.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "penstock/audio.h"

namespace penstock::media {

constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max();

// The least whole number that is not below count * to / from. `from` and `to` are sample rates.
constexpr std::int64_t resampled(std::int64_t count, std::int64_t from, std::int64_t to) noexcept {
  if (count == kEndless) return kEndless;
  return count / from * to + (count % from * to + from - 1) / from;
}

struct Part {
  std::int64_t first = 0, end = kEndless;  // samples of the file
  std::int64_t most = kEndless;            // samples of the result
};

// It begins with sample round(start * rate) of the file, and is round(duration * rate) long, of the
// rate that is asked for: wherever it begins, its length is the same. `options` are checked.
inline Part part_of(const AudioOptions& options, int sample_rate) noexcept {
  Part part;
  part.first = std::llrint(options.start * sample_rate);
  if (!options.duration) return part;
  const int rate = options.sample_rate > 0 ? options.sample_rate : sample_rate;
  part.most = std::llrint(*options.duration * rate);
  part.end = part.first + resampled(part.most, rate, sample_rate);
  return part;
}

// How many samples `count` of those in a part become.
inline std::int64_t made_of(std::int64_t count, const Part& part, int sample_rate,
                            int made_rate) noexcept {
  return std::min(part.most, resampled(count, sample_rate, made_rate));
}

}  // namespace penstock::media
