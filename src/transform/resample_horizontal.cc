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

enum class Layout { lanes, blocks, gather };

template <Layout kLayout, int kChannels>
HWY_INLINE void run_steps(const HorizontalPlan& plan, const std::uint8_t* row, std::int64_t from,
                          std::int64_t to, std::uint8_t* out) {
  if constexpr (kLayout == Layout::lanes) {
    run_lanes<kChannels>(plan, row, from, to, out);
  } else if constexpr (kLayout == Layout::gather) {
    run_gather<kChannels>(plan, row, from, to, out);
  } else {
    run_blocks<kChannels>(plan, row, from, to, out);
  }
}

// Risky steps would read past the row's end; they read a padded copy of that end instead. They come
// last, or first in a mirrored pass. Each step overwrites the overrun of the one before, so the
// order of steps is kept.
template <Layout kLayout, int kChannels>
void run_row(HorizontalPlan& plan, const std::uint8_t* row, std::uint8_t* out) {
  const auto run_risky = [&]() HWY_ATTR {
    std::memcpy(plan.tail.data(), row + plan.tail_from,
                static_cast<std::size_t>(plan.row_bytes - plan.tail_from));
    run_steps<kLayout, kChannels>(plan, plan.tail.data() - plan.tail_from, plan.risky_from,
                                  plan.risky_to, out);
  };
  if (plan.risky_from == 0) {
    run_risky();
    run_steps<kLayout, kChannels>(plan, row, plan.risky_to, plan.steps, out);
  } else {
    run_steps<kLayout, kChannels>(plan, row, 0, plan.risky_from, out);
    run_risky();
  }
}

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

template <int kChannels>
void plan_channels(const AxisWeights& weights, bool mirror, HorizontalPlan& plan) {
  if (plan_lanes(weights, kChannels, mirror, plan)) {
    plan.runner = &run_row<Layout::lanes, kChannels>;
  } else if constexpr (kChannels <= 2) {
    plan_gather<kChannels>(weights, mirror, plan);
    plan.runner = &run_row<Layout::gather, kChannels>;
  } else {
    plan_blocks<kChannels>(weights, mirror, plan);
    plan.runner = &run_row<Layout::blocks, kChannels>;
  }
}

void PlanHorizontal(const AxisWeights& weights, int channels, bool mirror, HorizontalPlan& plan) {
  plan.channels = channels;
  plan.row_bytes = std::int64_t{weights.end() - weights.lowest()} * channels;
  switch (channels) {
    case 1:
      plan_channels<1>(weights, mirror, plan);
      break;
    case 2:
      plan_channels<2>(weights, mirror, plan);
      break;
    case 3:
      plan_channels<3>(weights, mirror, plan);
      break;
    default:
      plan_channels<4>(weights, mirror, plan);
      break;
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

void plan_horizontal(const AxisWeights& weights, int channels, bool mirror, HorizontalPlan& plan) {
  HWY_DYNAMIC_DISPATCH(PlanHorizontal)(weights, channels, mirror, plan);
}

}  // namespace penstock
#endif
