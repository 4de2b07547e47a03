// The vertical pass: two rows are interleaved byte by byte, so that each 32-bit lane holds one
// column of both, then multiplied and added in pairs.
#include <cstring>

#include "transform/resample_kernels.h"
#include "transform/resample_scalar.h"

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

void ResampleRows(const std::uint8_t* const* rows, const std::int32_t* taps, std::int32_t count,
                  std::int64_t bytes, std::uint8_t* out) {
  resample_rows_scalar(rows, taps, count, bytes, out);
}

#else

HWY_INLINE VU8 column_strip(const std::uint8_t* const* rows, const std::int32_t* taps,
                            std::int32_t count, std::int64_t at) {
  const VU8 zero = hn::Zero(U8());
  WeightedSum s0, s1, s2, s3;
  for (std::int32_t t = 0; t < count; t += 2) {
    const bool both = t + 1 < count;
    const SplitPair pair(taps[t], both ? taps[t + 1] : 0);
    const VI32 lo = hn::Set(I32(), pair.lo);
    const VI32 hi = hn::Set(I32(), pair.hi);
    const VU8 a = hn::LoadU(U8(), rows[t] + at);
    const VU8 b = hn::LoadU(U8(), rows[both ? t + 1 : t] + at);
    const VU8 low = hn::InterleaveLower(U8(), a, b);
    const VU8 high = hn::InterleaveUpper(U8(), a, b);
    s0.add(hn::InterleaveLower(U8(), low, zero), lo, hi);
    s1.add(hn::InterleaveUpper(U8(), low, zero), lo, hi);
    s2.add(hn::InterleaveLower(U8(), high, zero), lo, hi);
    s3.add(hn::InterleaveUpper(U8(), high, zero), lo, hi);
  }
  return pack_u8(s0.get(), s1.get(), s2.get(), s3.get());
}

void ResampleRows(const std::uint8_t* const* rows, const std::int32_t* taps, std::int32_t count,
                  std::int64_t bytes, std::uint8_t* out) {
  std::int64_t at = 0;
  for (; at + vector_bytes <= bytes; at += vector_bytes)
    hn::StoreU(column_strip(rows, taps, count, at), U8(), out + at);
  if (at < bytes) {
    HWY_ALIGN std::uint8_t last[vector_bytes];
    hn::Store(column_strip(rows, taps, count, at), U8(), last);
    std::memcpy(out + at, last, static_cast<std::size_t>(bytes - at));
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

void resample_rows(const std::uint8_t* const* rows, const std::int32_t* taps, std::int32_t count,
                   std::int64_t bytes, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(ResampleRows)(rows, taps, count, bytes, out);
}

const char* resample_target() {
  return HWY_DYNAMIC_DISPATCH(TargetName)();
}

}  // namespace penstock
#endif
