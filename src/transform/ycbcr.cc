#include "transform/ycbcr.h"

#include <algorithm>
#include <cstring>

#include "transform/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transform/ycbcr.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#ifndef PENSTOCK_YCBCR_ONCE
#define PENSTOCK_YCBCR_ONCE
namespace penstock {

// red = y + 1.402 cr, green = y - 0.344136 cb - 0.714136 cr, blue = y + 1.772 cb, with chroma
// around zero. Factors are times 2^15, those above 1 without their whole part.
constexpr int cr_to_red = 13173, cb_to_green = 11277, cr_to_green = 23401, cb_to_blue = 25297;
constexpr int result_bits = 6;

}  // namespace penstock
#endif

HWY_BEFORE_NAMESPACE();
namespace penstock {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

inline std::uint8_t to_byte(int value) {
  return static_cast<std::uint8_t>(std::clamp((value + 32) >> result_bits, 0, 255));
}

void YcbcrPixels(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                 std::int64_t width, bool blue_first, std::uint8_t* to) {
  for (std::int64_t x = 0; x < width; ++x, to += 3) {
    const int luma = y[x] * 64, u = (cb[x] - 128) * 128, v = (cr[x] - 128) * 128;
    to[blue_first ? 2 : 0] = to_byte(luma + v / 2 + (v * cr_to_red >> 16));
    to[1] = to_byte(luma - (u * cb_to_green >> 16) - (v * cr_to_green >> 16));
    to[blue_first ? 0 : 2] = to_byte(luma + u / 2 + (u * cb_to_blue >> 16));
  }
}

#else

// At most 256 bits: these are a few short rows among others' work, not worth a lower clock.
using I16 = hn::CappedTag<std::int16_t, 16>;
using U8 = hn::Rebind<std::uint8_t, I16>;
using VI16 = hn::Vec<I16>;
using VU8 = hn::Vec<U8>;
constexpr std::int64_t step_pixels = hn::MaxLanes(U8());
static_assert(step_pixels <= ycbcr_padding);

HWY_INLINE VI16 wide(const std::uint8_t* at) {
  return hn::PromoteTo(I16(), hn::LoadU(U8(), at));
}

HWY_INLINE VI16 times(VI16 chroma, int factor) {
  return hn::MulHigh(chroma, hn::Set(I16(), static_cast<std::int16_t>(factor)));
}

HWY_INLINE VU8 bytes(VI16 value) {
  return hn::DemoteTo(U8(), hn::ShiftRight<result_bits>(value));
}

void YcbcrPixels(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                 std::int64_t width, bool blue_first, std::uint8_t* to) {
  const VI16 middle = hn::Set(I16(), 128), half = hn::Set(I16(), 32);
  HWY_ALIGN std::uint8_t last[step_pixels * 3];
  for (std::int64_t x = 0; x < width; x += step_pixels) {
    const VI16 luma = hn::Add(hn::ShiftLeft<result_bits>(wide(y + x)), half);
    const VI16 u = hn::ShiftLeft<7>(hn::Sub(wide(cb + x), middle));
    const VI16 v = hn::ShiftLeft<7>(hn::Sub(wide(cr + x), middle));
    const VU8 red = bytes(hn::Add(luma, hn::Add(hn::ShiftRight<1>(v), times(v, cr_to_red))));
    const VU8 green = bytes(hn::Sub(luma, hn::Add(times(u, cb_to_green), times(v, cr_to_green))));
    const VU8 blue = bytes(hn::Add(luma, hn::Add(hn::ShiftRight<1>(u), times(u, cb_to_blue))));
    const bool whole = x + step_pixels <= width;
    std::uint8_t* const at = whole ? to + x * 3 : last;
    hn::StoreInterleaved3(blue_first ? blue : red, green, blue_first ? red : blue, U8(), at);
    if (!whole) std::memcpy(to + x * 3, last, static_cast<std::size_t>(width - x) * 3);
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace penstock
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock {

HWY_EXPORT(YcbcrPixels);

void ycbcr_pixels(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                  std::int64_t width, bool blue_first, std::uint8_t* to) noexcept {
  HWY_DYNAMIC_DISPATCH(YcbcrPixels)(y, cb, cr, width, blue_first, to);
}

}  // namespace penstock
#endif
