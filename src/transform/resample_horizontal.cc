// The horizontal pass: chooses the layout for the number of channels, and keeps vector loads inside
// the source row.
#include <algorithm>
#include <cstring>

#include "transform/resample_kernels.h"
#include "transform/resample_scalar.h"
#include "transform/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transform/resample_horizontal.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "transform/horizontal_blocks-inl.h"
#include "transform/horizontal_gather-inl.h"
#include "transform/horizontal_lanes-inl.h"
#include "transform/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace penstock {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

void PlanHorizontal(const AxisWeights& weights, int channels, bool mirror, HorizontalPlan& plan) {
  plan_horizontal_scalar(weights, channels, mirror, plan);
}

#else

void find_risky_steps(HorizontalPlan& plan) {
  plan.risky_from = plan.steps;
  plan.risky_to = 0;
  plan.tail_from = plan.row_bytes;
  for (std::int64_t step = 0; step < plan.steps; ++step) {
    const std::int32_t* offsets = plan.offsets.data() + step * plan.step_offsets;
    const auto [low, high] = std::minmax_element(offsets, offsets + plan.step_offsets);
    if (*high + plan.reach <= plan.row_bytes) continue;
    plan.risky_from = std::min(plan.risky_from, step);
    plan.risky_to = step + 1;
    plan.tail_from = std::min<std::int64_t>(plan.tail_from, *low);
  }
  const auto room = static_cast<std::size_t>(plan.row_bytes - plan.tail_from + plan.reach);
  std::memset(plan.tail.reserve(room), 0, room);
}

void PlanHorizontal(const AxisWeights& weights, int channels, bool mirror, HorizontalPlan& plan) {
  plan.channels = channels;
  plan.row_bytes = std::int64_t{weights.end() - weights.lowest()} * channels;
  if (!plan_lanes(weights, mirror, plan)) {
    if (channels <= 2) {
      plan_gather(weights, mirror, plan);
    } else {
      plan_blocks(weights, mirror, plan);
    }
  }
  find_risky_steps(plan);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace penstock
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock {

HWY_EXPORT(PlanHorizontal);

// Risky steps would read past the row's end; they read a padded copy of that end instead. They come
// last, or first in a mirrored pass. Each step overwrites the overrun of the one before, so the
// order of steps is kept.
void HorizontalPlan::run(const std::uint8_t* row, std::uint8_t* out) {
  const bool risky_last = risky_from > 0;
  if (risky_last) run_steps(*this, row, 0, std::min(risky_from, steps), out);
  if (risky_from < risky_to) {
    std::memcpy(tail.data(), row + tail_from, static_cast<std::size_t>(row_bytes - tail_from));
    run_steps(*this, tail.data() - tail_from, risky_from, risky_to, out);
  }
  if (!risky_last) run_steps(*this, row, risky_to, steps, out);
}

void plan_horizontal(const AxisWeights& weights, int channels, bool mirror, HorizontalPlan& plan) {
  HWY_DYNAMIC_DISPATCH(PlanHorizontal)(weights, channels, mirror, plan);
}

}  // namespace penstock
#endif
