// The horizontal pass of 1 and 2 channels in strong downscaling: one output value per 32-bit lane,
// its taps gathered four bytes at a time. Four bytes are four taps of one channel, or two taps of
// two channels.
//
// Included once per target by resample_horizontal.cc.
#if defined(PENSTOCK_TRANSFORM_HORIZONTAL_GATHER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PENSTOCK_TRANSFORM_HORIZONTAL_GATHER_INL_H_
#undef PENSTOCK_TRANSFORM_HORIZONTAL_GATHER_INL_H_
#else
#define PENSTOCK_TRANSFORM_HORIZONTAL_GATHER_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "transform/resample_kernels.h"
#include "transform/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace penstock {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

// Four bytes from each of vector_words offsets.
HWY_INLINE VI32 gather_bytes(const std::uint8_t* row, const std::int32_t* offsets) {
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
  return hn::GatherOffset(I32(), reinterpret_cast<const std::int32_t*>(row),
                          hn::Load(I32(), offsets));
#else
  HWY_ALIGN std::int32_t words[vector_words];
  for (std::int64_t i = 0; i < vector_words; ++i) std::memcpy(words + i, row + offsets[i], 4);
  return hn::Load(I32(), words);
#endif
}

template <int kChannels>
HWY_INLINE VI32 gather_sums(const std::uint8_t* row, const std::int32_t* offsets,
                            const std::int32_t*& table, int pairs) {
  const VI32 even_bytes = hn::Set(I32(), 0x00ff00ff);
  WeightedSum sum;
  for (int p = 0; p < pairs; p += kChannels == 1 ? 2 : 1, row += 4) {
    const VI32 bytes = gather_bytes(row, offsets);
    sum.add(hn::BitCast(U8(), hn::And(bytes, even_bytes)), table);
    table += 2 * vector_words;
    if constexpr (kChannels == 1) {
      sum.add(hn::BitCast(U8(), hn::And(hn::ShiftRight<8>(bytes), even_bytes)), table);
      table += 2 * vector_words;
    }
  }
  return sum.get();
}

template <int kChannels>
void run_gather(const HorizontalPlan& plan, const std::uint8_t* row, std::int64_t from,
                std::int64_t to, std::uint8_t* out) {
  const hn::Rebind<std::uint8_t, I32> quarter;
  const std::int32_t* table = plan.table.data() + from * plan.pairs * 2 * vector_words;
  for (std::int64_t step = from; step < to; ++step) {
    const std::int32_t* offsets = plan.offsets.data() + step * vector_words;
    const VI32 values = gather_sums<kChannels>(row, offsets, table, plan.pairs);
    hn::StoreU(hn::DemoteTo(quarter, values), quarter, out + step * vector_words);
  }
}

void plan_gather(const AxisWeights& weights, bool mirror, HorizontalPlan& plan) {
  plan.run_steps = plan.channels == 1 ? &run_gather<1> : &run_gather<2>;
  const std::int64_t width = weights.size();
  const std::int64_t values = width * plan.channels;
  plan.steps = (values + vector_words - 1) / vector_words;
  plan.step_offsets = vector_words;
  plan.pairs = std::max((weights.max_count() + 1) / 2, 1);
  if (plan.channels == 1) plan.pairs = (plan.pairs + 1) / 2 * 2;
  plan.reach = plan.pairs * 2 * plan.channels;
  const std::int64_t padded = plan.steps * vector_words;
  std::int32_t* offsets = plan.offsets.reserve(static_cast<std::size_t>(padded));
  std::int32_t* table =
      plan.table.reserve(static_cast<std::size_t>(plan.steps * plan.pairs * 2 * vector_words));
  for (std::int64_t n = 0; n < padded; ++n) {
    const std::int64_t value = std::min(n, values - 1);
    const std::int64_t i = mirror ? width - 1 - value / plan.channels : value / plan.channels;
    const std::int32_t count = weights.count(i);
    const std::int32_t* taps = weights.taps(i);
    const auto tap = [&](int t) { return t < count ? taps[t] : 0; };
    offsets[n] = static_cast<std::int32_t>((weights.first(i) - weights.lowest()) * plan.channels +
                                           value % plan.channels);
    std::int32_t* at = table + n / vector_words * plan.pairs * 2 * vector_words + n % vector_words;
    for (int p = 0; p < plan.pairs; ++p, at += 2 * vector_words) {
      // One channel: taps 0 and 2 of each four sit in the even bytes, 1 and 3 in the odd ones.
      const int t = plan.channels == 1 ? p / 2 * 4 + p % 2 : 2 * p;
      const auto pair = SplitPair::of(tap(t), tap(plan.channels == 1 ? t + 2 : t + 1));
      at[0] = pair.lo;
      at[vector_words] = pair.hi;
    }
  }
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace penstock
HWY_AFTER_NAMESPACE();

#endif
