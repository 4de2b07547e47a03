// The resampler's inner loops in plain C++: the reference every vector version must equal, and the
// code for processors none of them fits.
//
// Thread safety: as resample_kernels.h.
#pragma once

#include "transform/resample_kernels.h"

namespace penstock {

void plan_horizontal_scalar(const AxisWeights& weights, int channels, bool mirror,
                            HorizontalPlan& plan);
void resample_rows_scalar(const std::uint8_t* const* rows, const SplitPair* pairs,
                          std::int32_t count, std::int64_t bytes, std::uint8_t* out);

}  // namespace penstock
