// Samples as WAV files hold them, interleaved, into rows or columns of floats or int16.
#pragma once

#include <cstdint>
#include <vector>

#include "media/audio/wav.h"

namespace penstock::media {

struct WavRows {
  WavCoding coding;
  int channels;                    // of the file
  const std::vector<int>& select;  // these of them; empty: all
  bool mixed;                      // the mean of two, as one row
  bool channels_first;
  std::int64_t total;  // samples of a row of the result

  // `count` samples a channel; the first of them is number `at` of the result.
  void convert(const std::uint8_t* from, std::int64_t at, std::int64_t count, float* out) const;
  void convert(const std::uint8_t* from, std::int64_t at, std::int64_t count,
               std::int16_t* out) const;
};

}  // namespace penstock::media
