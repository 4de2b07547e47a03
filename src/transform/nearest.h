// Nearest neighbour along one axis, equal to Pillow's.
//
// Pillow walks the axis by repeated addition, so the source pixel of an output depends on the
// rounding of all steps before it; this walks the same way.
// Thread safety: one thread at a time per NearestAxis.
#pragma once

#include <cstdint>

#include "transform/scratch.h"

namespace penstock {

class NearestAxis {
 public:
  // Source pixels of outputs keep_from .. keep_from + keep - 1; arguments must have been checked.
  void compute(std::int64_t src, float from, float to, std::int64_t out, std::int64_t keep_from,
               std::int64_t keep);

  std::int64_t size() const { return size_; }
  // The source pixel of output i; -1 where there is none, which leaves the output zero.
  std::int32_t source(std::int64_t i) const { return sources_[i]; }
  // The hull of all sources: [lowest, end).
  std::int32_t lowest() const { return lowest_; }
  std::int32_t end() const { return end_; }

 private:
  std::int64_t size_ = 0;
  std::int32_t lowest_ = 0;
  std::int32_t end_ = 0;
  Scratch<std::int32_t> sources_;
};

}  // namespace penstock
