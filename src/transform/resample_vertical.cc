// The vertical pass: two rows are interleaved byte by byte, so that each 32-bit lane holds one
// column of both, then multiplied and added in pairs.
#include <cstring>

#include "transform/resample_kernels.h"
#include "transform/resample_scalar.h"
#include "transform/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transform/resample_vertical.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "transform/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace penstock {
namespace HWY_NAMESPACE {

const char* TargetName() {
  return hwy::TargetName(HWY_TARGET);
}

#if HWY_TARGET == HWY_SCALAR

void ResampleRows(const std::uint8_t* const* rows, const SplitPair* pairs, std::int32_t count,
                  std::int64_t bytes, std::uint8_t* out) {
  resample_rows_scalar(rows, pairs, count, bytes, out);
}

#else

HWY_INLINE VU8 column_strip(const std::uint8_t* const* rows, const SplitPair* pairs,
                            std::int32_t count, std::int64_t at) {
  const VU8 zero = hn::Zero(U8());
  WeightedSum s0, s1, s2, s3;
  for (std::int32_t t = 0; t < count; t += 2) {
    const VI32 lo = hn::Set(I32(), pairs[t / 2].lo);
    const VI32 hi = hn::Set(I32(), pairs[t / 2].hi);
    const VU8 a = hn::LoadU(U8(), rows[t] + at);
    const VU8 b = hn::LoadU(U8(), rows[t + 1] + at);
    const VU8 low = hn::InterleaveLower(U8(), a, b);
    const VU8 high = hn::InterleaveUpper(U8(), a, b);
    s0.add(hn::InterleaveLower(U8(), low, zero), lo, hi);
    s1.add(hn::InterleaveUpper(U8(), low, zero), lo, hi);
    s2.add(hn::InterleaveLower(U8(), high, zero), lo, hi);
    s3.add(hn::InterleaveUpper(U8(), high, zero), lo, hi);
  }
  return pack_u8(s0.get(), s1.get(), s2.get(), s3.get());
}

// kCount rows, or as many as given if 0; an even number.
template <std::int32_t kCount>
void all_strips(const std::uint8_t* const* rows, const SplitPair* pairs, std::int32_t given,
                std::int64_t bytes, std::uint8_t* out) {
  const std::int32_t count = kCount == 0 ? given : kCount;
  HWY_ALIGN std::uint8_t last[vector_bytes];
  for (std::int64_t at = 0; at < bytes; at += vector_bytes) {
    const bool whole = at + vector_bytes <= bytes;
    hn::StoreU(column_strip(rows, pairs, count, at), U8(), whole ? out + at : last);
    if (!whole) std::memcpy(out + at, last, static_cast<std::size_t>(bytes - at));
  }
}

void ResampleRows(const std::uint8_t* const* rows, const SplitPair* pairs, std::int32_t count,
                  std::int64_t bytes, std::uint8_t* out) {
  // The usual counts are compiled with the loop over rows unrolled.
  switch ((count + 1) / 2) {
    case 1:
      return all_strips<2>(rows, pairs, 2, bytes, out);
    case 2:
      return all_strips<4>(rows, pairs, 4, bytes, out);
    case 3:
      return all_strips<6>(rows, pairs, 6, bytes, out);
    default:
      return all_strips<0>(rows, pairs, (count + 1) / 2 * 2, bytes, out);
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace penstock
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock {

HWY_EXPORT(ResampleRows);
HWY_EXPORT(TargetName);

void resample_rows(const std::uint8_t* const* rows, const SplitPair* pairs, std::int32_t count,
                   std::int64_t bytes, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(ResampleRows)(rows, pairs, count, bytes, out);
}

const char* resample_target() {
  return HWY_DYNAMIC_DISPATCH(TargetName)();
}

}  // namespace penstock
#endif
