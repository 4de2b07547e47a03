#include "transform/nearest.h"

#include <algorithm>

namespace penstock {

void NearestAxis::compute(std::int64_t src, float from, float to, std::int64_t out,
                          std::int64_t keep_from, std::int64_t keep) {
  size_ = keep;
  std::int32_t* sources = sources_.reserve(static_cast<std::size_t>(keep));
  const double step = static_cast<double>(to - from) / static_cast<double>(out);
  double at = from + step * 0.5;
  lowest_ = static_cast<std::int32_t>(src);
  end_ = 0;
  for (std::int64_t i = 0; i < keep_from; ++i) at += step;
  for (std::int64_t i = 0; i < keep; ++i, at += step) {
    const auto pixel = at < 0.0 ? -1 : static_cast<std::int64_t>(at);
    const bool exists = pixel >= 0 && pixel < src;
    sources[i] = exists ? static_cast<std::int32_t>(pixel) : -1;
    if (exists) {
      lowest_ = std::min(lowest_, sources[i]);
      end_ = std::max(end_, sources[i] + 1);
    }
  }
  if (lowest_ >= end_) lowest_ = 0, end_ = 1;  // no output has a source: keep the hull a range
}

}  // namespace penstock
