// What the transform kernels share: vector types, exact sums of pixels by weights, and the few
// operations Highway 1.0 does not offer.
//
// Included once per target by files that use foreach_target; hence no pragma once.
#if defined(PENSTOCK_TRANSFORM_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PENSTOCK_TRANSFORM_SIMD_INL_H_
#undef PENSTOCK_TRANSFORM_SIMD_INL_H_
#else
#define PENSTOCK_TRANSFORM_SIMD_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "transform/weights.h"

HWY_BEFORE_NAMESPACE();
namespace penstock {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

// Byte vectors as wide as the target has, and the same bits as other lanes.
using U8 = hn::ScalableTag<std::uint8_t>;
using I16 = hn::Repartition<std::int16_t, U8>;
using I32 = hn::Repartition<std::int32_t, U8>;
using VU8 = hn::Vec<U8>;
using VI16 = hn::Vec<I16>;
using VI32 = hn::Vec<I32>;

constexpr std::int64_t vector_bytes = hn::MaxLanes(U8());
constexpr std::int64_t vector_blocks = vector_bytes / 16;  // of 128 bits
constexpr std::int64_t vector_words = vector_bytes / 4;    // of 32 bits

// kStart and the sums of 16-bit products of neighbouring lanes. On x86 `even` has the sums all
// along; other targets keep partial ones until the end, where a lane's may be in another lane.
template <std::int32_t kStart>
struct PairSum {
  VI32 even;
  VI32 odd;

  HWY_INLINE PairSum() : even(hn::Set(I32(), HWY_ARCH_X86 ? kStart : 0)), odd(hn::Zero(I32())) {}
  HWY_INLINE void add(VI16 a, VI16 b) {
    even = hn::ReorderWidenMulAccumulate(I32(), a, b, even, odd);
  }
  HWY_INLINE VI32 get() const {
    const VI32 sum = hn::RearrangeToOddPlusEven(even, odd);
    return HWY_ARCH_X86 ? sum : hn::Add(sum, hn::Set(I32(), kStart));
  }
};

// One vector of resampled values in the making: each 32-bit lane takes two taps at a time.
struct WeightedSum {
  PairSum<weight_half> lo;
  PairSum<0> hi;

  // Written out: a compiler-made constructor would not be compiled for the target.
  HWY_INLINE WeightedSum() : lo(), hi() {}

  // `pixels` holds two taps of each lane, `weights` a vector of SplitPair::lo and one of ::hi.
  HWY_INLINE void add(VU8 pixels, const std::int32_t* weights) {
    add(pixels, hn::Load(I32(), weights), hn::Load(I32(), weights + vector_words));
  }
  HWY_INLINE void add(VU8 pixels, VI32 weights_lo, VI32 weights_hi) {
    lo.add(hn::BitCast(I16(), pixels), hn::BitCast(I16(), weights_lo));
    hi.add(hn::BitCast(I16(), pixels), hn::BitCast(I16(), weights_hi));
  }
  // Rounded, not yet clipped to a byte.
  HWY_INLINE VI32 get() const {
    return hn::ShiftRight<weight_bits>(hn::Add(lo.get(), hn::ShiftLeft<15>(hi.get())));
  }
};

// a then b, clipped to bytes, block by block (the order in-block interleaves are undone in).
HWY_INLINE VU8 pack_u8(VI16 a, VI16 b) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  return VU8{_mm512_packus_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_AVX2
  return VU8{_mm256_packus_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
  return VU8{_mm_packus_epi16(a.raw, b.raw)};
#else
  const hn::Half<U8> half;
  return hn::Combine(U8(), hn::DemoteTo(half, b), hn::DemoteTo(half, a));
#endif
}

// Four vectors of 32-bit values to bytes, block by block.
HWY_INLINE VU8 pack_u8(VI32 a, VI32 b, VI32 c, VI32 d) {
  return pack_u8(hn::ReorderDemote2To(I16(), a, b), hn::ReorderDemote2To(I16(), c, d));
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace penstock
HWY_AFTER_NAMESPACE();

#endif
