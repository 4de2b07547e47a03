// Checks a ResizeSpec and brings it into the form the resampler works with.
//
// Thread safety: pure functions over plain values.
#pragma once

#include "penstock/error.h"
#include "transform/resample.h"

namespace penstock {

// Larger sides are refused: single precision, in which Pillow keeps a box, has 24 bits.
inline constexpr std::int64_t max_side = std::int64_t{1} << 24;

inline constexpr int max_planes = 4;

struct ResizePlan {
  // The box in Pillow's single precision.
  float left = 0;
  float top = 0;
  float right = 0;
  float bottom = 0;
  Rect keep;
  bool horizontal = false;  // whether the pass changes anything
  bool vertical = false;
  bool vertical_first = false;  // only when there are both
};

// Error: invalid_argument or out_of_range, naming the argument.
Result<ResizePlan> check(const ResizeSpec& spec);

}  // namespace penstock
