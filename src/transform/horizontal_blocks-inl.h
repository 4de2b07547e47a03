// The horizontal pass of 3 and 4 channels in strong downscaling: one output pixel per 128-bit
// block, its channels in the four 32-bit lanes; a byte shuffle puts two taps of each channel side
// by side.
//
// Included once per target by resample_horizontal.cc.
#if defined(PENSTOCK_TRANSFORM_HORIZONTAL_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PENSTOCK_TRANSFORM_HORIZONTAL_BLOCKS_INL_H_
#undef PENSTOCK_TRANSFORM_HORIZONTAL_BLOCKS_INL_H_
#else
#define PENSTOCK_TRANSFORM_HORIZONTAL_BLOCKS_INL_H_
#endif

#include <algorithm>

#include "transform/resample_kernels.h"
#include "transform/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace penstock {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

// Pixels are taken in steps of four vectors; vector v, block b of a step is pixel 4 * b + v, so
// that packing the four vectors to bytes puts the pixels in order.
constexpr std::int64_t step_pixels = 4 * vector_blocks;

// 16 bytes from each of offsets[0], [4], [8], [12], as many as the vector has blocks.
HWY_INLINE VU8 load_blocks(const std::uint8_t* row, const std::int32_t* offsets) {
  const hn::Full128<std::uint8_t> block;
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  const hn::Full256<std::uint8_t> half;
  const auto lower =
      hn::Combine(half, hn::LoadU(block, row + offsets[4]), hn::LoadU(block, row + offsets[0]));
  const auto upper =
      hn::Combine(half, hn::LoadU(block, row + offsets[12]), hn::LoadU(block, row + offsets[8]));
  return hn::Combine(U8(), upper, lower);
#elif HWY_TARGET == HWY_AVX2
  return hn::Combine(U8(), hn::LoadU(block, row + offsets[4]), hn::LoadU(block, row + offsets[0]));
#else
  return hn::LoadU(block, row + offsets[0]);
#endif
}

template <int kChannels>
struct BlockShuffles {
  static constexpr std::uint8_t z = 0x80;  // gives zero
  // Taps 0 and 1, then 2 and 3, as pairs of 16-bit lanes per channel.
  alignas(16) static constexpr std::uint8_t first[2][16] = {
      {0, z, 3, z, 1, z, 4, z, 2, z, 5, z, z, z, z, z},
      {0, z, 4, z, 1, z, 5, z, 2, z, 6, z, 3, z, 7, z}};
  alignas(16) static constexpr std::uint8_t second[2][16] = {
      {6, z, 9, z, 7, z, 10, z, 8, z, 11, z, z, z, z, z},
      {8, z, 12, z, 9, z, 13, z, 10, z, 14, z, 11, z, 15, z}};
  alignas(16) static constexpr std::uint8_t drop_fourth[16] = {0,  1,  2,  4,  5, 6, 8, 9,
                                                               10, 12, 13, 14, z, z, z, z};

  VU8 a, b, squeeze;
  HWY_INLINE BlockShuffles()
      : a(hn::LoadDup128(U8(), first[kChannels - 3])),
        b(hn::LoadDup128(U8(), second[kChannels - 3])),
        squeeze(hn::LoadDup128(U8(), drop_fourth)) {}
};

// Writes a step's pixels, of four bytes each in the vector; may write past them within the vector.
template <int kChannels>
HWY_INLINE void store_step(const BlockShuffles<kChannels>& shuffles, VU8 pixels,
                           std::uint8_t* out) {
  if constexpr (kChannels == 4) {
    hn::StoreU(pixels, U8(), out);
    return;
  }
  const VU8 squeezed = hn::TableLookupBytesOr0(pixels, shuffles.squeeze);
  if constexpr (vector_blocks == 1) {
    hn::StoreU(squeezed, U8(), out);
  } else {
    HWY_ALIGN static constexpr std::int32_t four[16] = {0,  1,  2,  4,  5,  6,  8,  9,
                                                        10, 12, 13, 14, 15, 15, 15, 15};
    HWY_ALIGN static constexpr std::int32_t two[8] = {0, 1, 2, 4, 5, 6, 7, 7};
    const auto order = hn::SetTableIndices(I32(), vector_blocks == 4 ? four : two);
    hn::StoreU(hn::BitCast(U8(), hn::TableLookupLanes(hn::BitCast(I32(), squeezed), order)), U8(),
               out);
  }
}

template <int kChannels>
HWY_INLINE VI32 block_sums(const BlockShuffles<kChannels>& shuffles, const std::uint8_t* row,
                           const std::int32_t* offsets, const std::int32_t*& table, int pairs) {
  WeightedSum sum;
  for (; pairs > 0; pairs -= 2, row += 4 * kChannels) {
    const VU8 bytes = load_blocks(row, offsets);
    sum.add(hn::TableLookupBytesOr0(bytes, shuffles.a), table);
    table += 2 * vector_words;
    if (pairs == 1) break;
    sum.add(hn::TableLookupBytesOr0(bytes, shuffles.b), table);
    table += 2 * vector_words;
  }
  return sum.get();
}

template <int kChannels>
void run_blocks(const HorizontalPlan& plan, const std::uint8_t* row, std::int64_t from,
                std::int64_t to, std::uint8_t* out) {
  const BlockShuffles<kChannels> shuffles;
  const std::int32_t* table = plan.table.data() + from * 4 * plan.pairs * 2 * vector_words;
  for (std::int64_t step = from; step < to; ++step) {
    const std::int32_t* offsets = plan.offsets.data() + step * step_pixels;
    VI32 values[4];
    for (int v = 0; v < 4; ++v)
      values[v] = block_sums(shuffles, row, offsets + v, table, plan.pairs);
    store_step(shuffles, pack_u8(values[0], values[1], values[2], values[3]),
               out + step * step_pixels * kChannels);
  }
}

void plan_blocks(const AxisWeights& weights, bool mirror, HorizontalPlan& plan) {
  plan.run_steps = plan.channels == 3 ? &run_blocks<3> : &run_blocks<4>;
  const std::int64_t width = weights.size();
  plan.steps = (width + step_pixels - 1) / step_pixels;
  plan.step_offsets = step_pixels;
  plan.pairs = std::max((weights.max_count() + 1) / 2, 1);
  plan.reach = (plan.pairs - 1) / 2 * 4 * plan.channels + 16;
  std::int32_t* offsets = plan.offsets.reserve(static_cast<std::size_t>(plan.steps * step_pixels));
  std::int32_t* table =
      plan.table.reserve(static_cast<std::size_t>(plan.steps * 4 * plan.pairs * 2 * vector_words));
  const hn::Full128<std::int32_t> block;
  for (std::int64_t x = 0; x < plan.steps * step_pixels; ++x) {
    const std::int64_t v = x % 4;
    const std::int64_t b = x % step_pixels / 4;
    const std::int64_t used = std::min(x, width - 1);
    const std::int64_t i = mirror ? width - 1 - used : used;
    const SplitPair* split = weights.pairs(i);
    std::int32_t* at = table + (x / step_pixels * 4 + v) * plan.pairs * 2 * vector_words + b * 4;
    offsets[x] = (weights.first(i) - weights.lowest()) * plan.channels;
    for (int p = 0; p < plan.pairs; ++p, at += 2 * vector_words) {
      hn::Store(hn::Set(block, split[p].lo), block, at);
      hn::Store(hn::Set(block, split[p].hi), block, at + vector_words);
    }
  }
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace penstock
HWY_AFTER_NAMESPACE();

#endif
