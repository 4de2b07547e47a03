#include "transform/resample_scalar.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

// Sums are kept unsigned: they wrap, as the vector versions do, where a 32-bit int would overflow.
std::uint8_t finish(std::uint32_t sum) {
  return static_cast<std::uint8_t>(
      std::clamp(static_cast<std::int32_t>(sum) >> weight_bits, 0, 255));
}

// The table holds, for each output pixel, its tap count and then its taps.
void run_scalar(const HorizontalPlan& plan, const std::uint8_t* row, std::int64_t from,
                std::int64_t to, std::uint8_t* out) {
  const std::int64_t stride = 2 * plan.pairs + 1;
  for (std::int64_t x = from; x < to; ++x) {
    const std::int32_t* table = plan.table.data() + x * stride;
    for (int c = 0; c < plan.channels; ++c) {
      std::uint32_t sum = weight_half;
      const std::uint8_t* pixel = row + plan.offsets[x] + c;
      for (std::int32_t t = 0; t < table[0]; ++t, pixel += plan.channels)
        sum += *pixel * static_cast<std::uint32_t>(table[1 + t]);
      out[x * plan.channels + c] = finish(sum);
    }
  }
}

}  // namespace

void plan_horizontal_scalar(const AxisWeights& weights, int channels, bool mirror,
                            HorizontalPlan& plan) {
  plan.channels = channels;
  plan.run_steps = &run_scalar;
  plan.steps = weights.size();
  plan.risky_from = plan.steps;  // nothing is read that is not needed
  plan.risky_to = 0;
  plan.pairs = (weights.max_count() + 1) / 2;
  const std::int64_t stride = 2 * plan.pairs + 1;
  plan.offsets.reserve(static_cast<std::size_t>(plan.steps));
  std::int32_t* table = plan.table.reserve(static_cast<std::size_t>(plan.steps * stride));
  for (std::int64_t x = 0; x < plan.steps; ++x, table += stride) {
    const std::int64_t i = mirror ? plan.steps - 1 - x : x;
    plan.offsets[x] = (weights.first(i) - weights.lowest()) * channels;
    table[0] = weights.count(i);
    std::copy_n(weights.taps(i), weights.count(i), table + 1);
  }
}

void resample_rows_scalar(const std::uint8_t* const* rows, const SplitPair* pairs,
                          std::int32_t count, std::int64_t bytes, std::uint8_t* out) {
  const auto weight = [&](std::int32_t t) {
    const auto lo = static_cast<std::uint32_t>(pairs[t / 2].lo >> (t % 2 * 16)) & 0xffff;
    const auto hi = static_cast<std::int16_t>(pairs[t / 2].hi >> (t % 2 * 16));
    return static_cast<std::uint32_t>(hi) * 0x8000u + lo;
  };
  for (std::int64_t i = 0; i < bytes; ++i) {
    std::uint32_t sum = weight_half;
    for (std::int32_t t = 0; t < count; ++t) sum += rows[t][i] * weight(t);
    out[i] = finish(sum);
  }
}

}  // namespace penstock
