// The horizontal pass where neighbouring outputs read neighbouring bytes (upscaling and moderate
// downscaling, any number of channels): one output value per 32-bit lane. A window of source bytes
// that holds two taps of several outputs is loaded, and a byte shuffle made for those outputs puts
// each one's two taps into its lane.
//
// A window is a 128-bit block, or the whole vector where the target shuffles bytes across it.
// Included once per target by resample_horizontal.cc.
#if defined(PENSTOCK_TRANSFORM_HORIZONTAL_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PENSTOCK_TRANSFORM_HORIZONTAL_LANES_INL_H_
#undef PENSTOCK_TRANSFORM_HORIZONTAL_LANES_INL_H_
#else
#define PENSTOCK_TRANSFORM_HORIZONTAL_LANES_INL_H_
#endif

#include <algorithm>

#include "transform/resample_kernels.h"
#include "transform/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace penstock {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

#if HWY_TARGET == HWY_AVX3_DL
constexpr std::int64_t window_bytes = 64;
#else
constexpr std::int64_t window_bytes = 16;
#endif
constexpr std::int64_t vector_windows = vector_bytes / window_bytes;

// A step makes four vectors of values, vector_bytes output bytes. The value of vector v, lane l,
// such that packing (and for whole-vector windows a final shuffle of words) puts the bytes in
// order.
constexpr std::int64_t value_of_lane(std::int64_t v, std::int64_t l) {
  return vector_windows == 1 ? v * vector_words + l : l / 4 * 16 + v * 4 + l % 4;
}

// Two taps of each lane, as its two 16-bit halves.
HWY_INLINE VU8 load_taps(const std::uint8_t* row, const std::int32_t* offsets, VU8 shuffle) {
#if HWY_TARGET == HWY_AVX3_DL
  const VU8 window = hn::LoadU(U8(), row + offsets[0]);
  return VU8{_mm512_maskz_permutexvar_epi8(0x5555555555555555u, shuffle.raw, window.raw)};
#else
  const hn::Full128<std::uint8_t> block;
  const auto first = hn::LoadU(block, row + offsets[0]);
#if HWY_TARGET == HWY_AVX3
  const hn::Full256<std::uint8_t> half;
  const auto lower = hn::Combine(half, hn::LoadU(block, row + offsets[1]), first);
  const auto upper =
      hn::Combine(half, hn::LoadU(block, row + offsets[3]), hn::LoadU(block, row + offsets[2]));
  const VU8 window = hn::Combine(U8(), upper, lower);
#elif HWY_TARGET == HWY_AVX2
  const VU8 window = hn::Combine(U8(), hn::LoadU(block, row + offsets[1]), first);
#else
  const VU8 window = first;
#endif
  return hn::TableLookupBytesOr0(window, shuffle);
#endif
}

HWY_INLINE VU8 in_order(VU8 packed) {
  if constexpr (vector_windows == 1 && vector_blocks == 4) {
    HWY_ALIGN static constexpr std::int32_t transpose[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                             2, 6, 10, 14, 3, 7, 11, 15};
    return hn::BitCast(U8(), hn::TableLookupLanes(hn::BitCast(I32(), packed),
                                                  hn::SetTableIndices(I32(), transpose)));
  } else {
    return packed;
  }
}

// kPairs pairs of taps, or as many as the plan says if 0.
template <int kPairs>
void run_lanes(const HorizontalPlan& plan, const std::uint8_t* row, std::int64_t from,
               std::int64_t to, std::uint8_t* out) {
  const int pairs = kPairs == 0 ? plan.pairs : kPairs;
  const std::int64_t pair_bytes = 2 * plan.channels;
  const std::int32_t* offsets = plan.offsets.data() + from * 4 * vector_windows;
  const std::uint8_t* shuffles = plan.shuffles.data() + from * 4 * vector_bytes;
  const std::int32_t* table = plan.table.data() + from * 4 * pairs * 2 * vector_words;
  for (std::int64_t step = from; step < to; ++step) {
    VI32 values[4];
    for (int v = 0; v < 4; ++v) {
      const VU8 shuffle = hn::Load(U8(), shuffles);
      WeightedSum sum;
      for (int p = 0; p < pairs; ++p, table += 2 * vector_words)
        sum.add(load_taps(row + p * pair_bytes, offsets, shuffle), table);
      values[v] = sum.get();
      offsets += vector_windows;
      shuffles += vector_bytes;
    }
    hn::StoreU(in_order(pack_u8(values[0], values[1], values[2], values[3])), U8(),
               out + step * vector_bytes);
  }
}

// Fails, leaving the plan half made, where the outputs of a window are too far apart for it.
bool plan_lanes(const AxisWeights& weights, bool mirror, HorizontalPlan& plan) {
  const int channels = plan.channels;
  const std::int64_t width = weights.size();
  const std::int64_t values = width * channels;
  plan.steps = (values + vector_bytes - 1) / vector_bytes;
  plan.step_offsets = 4 * vector_windows;
  plan.pairs = std::max((weights.max_count() + 1) / 2, 1);
  plan.reach = (plan.pairs - 1) * 2 * channels + window_bytes;
  const std::int64_t vectors = plan.steps * 4;
  std::int32_t* offsets = plan.offsets.reserve(static_cast<std::size_t>(vectors * vector_windows));
  std::uint8_t* shuffles = plan.shuffles.reserve(static_cast<std::size_t>(vectors * vector_bytes));
  std::int32_t* table =
      plan.table.reserve(static_cast<std::size_t>(vectors * plan.pairs * 2 * vector_words));
  constexpr std::int64_t window_words = window_bytes / 4;
  for (std::int64_t vector = 0; vector < vectors; ++vector) {
    for (std::int64_t window = 0; window < vector_windows; ++window, ++offsets) {
      std::int32_t starts[window_words];
      std::int32_t low = INT32_MAX, high = 0;
      for (std::int64_t n = 0; n < window_words; ++n) {
        const std::int64_t l = window * window_words + n;
        const std::int64_t value = vector / 4 * vector_bytes + value_of_lane(vector % 4, l);
        const std::int64_t used = std::min(value, values - 1);
        const auto x = static_cast<std::int64_t>(static_cast<std::uint32_t>(used) /
                                                 static_cast<std::uint32_t>(channels));
        const std::int64_t i = mirror ? width - 1 - x : x;
        starts[n] = static_cast<std::int32_t>((weights.first(i) - weights.lowest()) * channels +
                                              used - x * channels);
        low = std::min(low, starts[n]);
        high = std::max(high, starts[n]);
        const SplitPair* split = weights.pairs(i);
        std::int32_t* at = table + l;
        for (int p = 0; p < plan.pairs; ++p, at += 2 * vector_words) {
          at[0] = split[p].lo;
          at[vector_words] = split[p].hi;
        }
      }
      if (high + channels - low >= window_bytes) return false;
      *offsets = low;
      for (std::int64_t n = 0; n < window_words; ++n) {
        std::uint8_t* bytes = shuffles + (window * window_words + n) * 4;
        bytes[0] = static_cast<std::uint8_t>(starts[n] - low);
        bytes[2] = static_cast<std::uint8_t>(starts[n] - low + channels);
        bytes[1] = bytes[3] = 0x80;  // gives zero
      }
    }
    shuffles += vector_bytes;
    table += plan.pairs * 2 * vector_words;
  }
  plan.run_steps = plan.pairs == 1   ? &run_lanes<1>
                   : plan.pairs == 2 ? &run_lanes<2>
                   : plan.pairs == 3 ? &run_lanes<3>
                                     : &run_lanes<0>;
  return true;
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace penstock
HWY_AFTER_NAMESPACE();

#endif
