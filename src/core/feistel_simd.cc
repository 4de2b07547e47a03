// mix_many: the same arithmetic as mix(), a vector of numbers at a time. Compiled once for each
// instruction set; the best one that the CPU has is chosen at run time.
#include "core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/feistel_simd.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "core/feistel.h"

HWY_BEFORE_NAMESPACE();
namespace penstock::detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

void MixMany(const Feistel& feistel, std::uint64_t* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = mix(feistel, values[i]);
}

#else

using D64 = hn::ScalableTag<std::uint64_t>;
using D32 = hn::Repartition<std::uint32_t, D64>;
using V64 = hn::Vec<D64>;

// Parts live in the low half of 64-bit lanes. What MulEven leaves in the high half is ignored by
// the next MulEven and cut away by the mask at the end of a round.
HWY_INLINE V64 Fold(V64 x, V64 m) {
  const D32 d32;
  const V64 product = hn::MulEven(hn::BitCast(d32, x), hn::BitCast(d32, m));
  return hn::Xor(product, hn::ShiftRight<32>(product));
}

struct Multipliers {
  V64 m1, m2;
};

HWY_INLINE V64 RoundFunction(V64 x, V64 a, V64 b, const Multipliers& by) {
  return Fold(hn::Xor(Fold(hn::Xor(x, a), by.m1), b), by.m2);
}

// Several vectors side by side hide the latency of the multiplications.
template <std::size_t vectors>
HWY_INLINE void MixVectors(const Feistel& feistel, std::uint64_t* HWY_RESTRICT values) {
  const D64 d;
  const std::size_t lanes = hn::Lanes(d);
  const int shift = low_bits(feistel.bits);
  const V64 low_mask = hn::Set(d, (std::uint64_t{1} << shift) - 1);
  const V64 high_mask = hn::Set(d, (std::uint64_t{1} << high_bits(feistel.bits)) - 1);
  const Multipliers by{hn::Set(d, kFeistelM1), hn::Set(d, kFeistelM2)};

  V64 low[vectors], high[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    const V64 value = hn::LoadU(d, values + v * lanes);
    low[v] = hn::And(value, low_mask);
    high[v] = hn::ShiftRightSame(value, shift);
  }
  for (int r = 0; r < feistel.rounds; r += 2) {
    const V64 a0 = hn::Set(d, feistel.keys[r].a), b0 = hn::Set(d, feistel.keys[r].b);
    for (std::size_t v = 0; v < vectors; ++v) {
      high[v] = hn::Xor(high[v], hn::And(RoundFunction(low[v], a0, b0, by), high_mask));
    }
    const V64 a1 = hn::Set(d, feistel.keys[r + 1].a), b1 = hn::Set(d, feistel.keys[r + 1].b);
    for (std::size_t v = 0; v < vectors; ++v) {
      low[v] = hn::Xor(low[v], hn::And(RoundFunction(high[v], a1, b1, by), low_mask));
    }
  }
  for (std::size_t v = 0; v < vectors; ++v) {
    hn::StoreU(hn::Or(hn::ShiftLeftSame(high[v], shift), low[v]), d, values + v * lanes);
  }
}

void MixMany(const Feistel& feistel, std::uint64_t* values, std::size_t count) {
  const std::size_t lanes = hn::Lanes(D64());
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) MixVectors<4>(feistel, values + i);
  for (; i + lanes <= count; i += lanes) MixVectors<1>(feistel, values + i);
  for (; i < count; ++i) values[i] = mix(feistel, values[i]);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace penstock::detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::detail {

static_assert(feistel_rounds(1) % 2 == 0 && feistel_rounds(9) % 2 == 0 &&
                  feistel_rounds(17) % 2 == 0,
              "MixVectors does two rounds at a time");

HWY_EXPORT(MixMany);

void mix_many(const Feistel& feistel, std::uint64_t* values, std::size_t count) noexcept {
  HWY_DYNAMIC_DISPATCH(MixMany)(feistel, values, count);
}

}  // namespace penstock::detail
#endif
