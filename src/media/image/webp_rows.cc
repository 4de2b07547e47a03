// Two steps: chroma is mixed with the row above or below into memory (times 4), then with its
// neighbours on the left and on the right (times 16), where it meets the luma. A vector of 16-bit
// lanes holds a chroma sample a lane, so the pixels of even and of odd columns have one each, and a
// vector of luma bytes holds just the two. Rows shorter than a vector are done pixel by pixel.
#include "media/image/webp_rows.h"

#include <algorithm>

#include "transform/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "media/image/webp_rows.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <cstring>

#ifndef PENSTOCK_WEBP_ROWS_ONCE
#define PENSTOCK_WEBP_ROWS_ONCE
namespace penstock::media {

// red = y + v, green = y - u - v, blue = y + u, each times its factor / 256 (cut), plus an offset;
// the result is in 64ths.
constexpr int kLuma = 19077, kRedV = 26149, kGreenU = 6419, kGreenV = 13320, kBlueU = 33050;
constexpr int kRedLess = 14234, kGreenMore = 8708, kBlueLess = 17685;
constexpr int kResultBits = 6;

}  // namespace penstock::media
#endif

HWY_BEFORE_NAMESPACE();
namespace penstock::media {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline std::uint8_t Clip(int value) {
  return std::uint8_t(std::clamp(value >> kResultBits, 0, 255));
}

// `u` and `v` begin with the sample of column -1.
void PlainPixels(const WebpRow& row, Native native, const std::uint16_t* u, const std::uint16_t* v,
                 std::uint8_t* to) {
  for (std::int64_t x = 0; x < row.width; ++x) {
    const std::int64_t here = x / 2 + 1, beside = here + (x % 2 == 0 ? -1 : 1);
    const int mixed_u = (3 * u[here] + u[beside] + 8) >> 4;
    const int mixed_v = (3 * v[here] + v[beside] + 8) >> 4;
    const int y = row.y[x] * kLuma >> 8;
    const std::uint8_t red = Clip(y + (mixed_v * kRedV >> 8) - kRedLess);
    const std::uint8_t green =
        Clip(y - (mixed_u * kGreenU >> 8) - (mixed_v * kGreenV >> 8) + kGreenMore);
    const std::uint8_t blue = Clip(y + (mixed_u * kBlueU >> 8) - kBlueLess);
    *to++ = native == Native::bgr ? blue : red;
    *to++ = green;
    *to++ = native == Native::bgr ? red : blue;
    if (native == Native::rgba) *to++ = row.alpha ? row.alpha[x] : 255;
  }
}

#if HWY_TARGET == HWY_SCALAR

void MixRows(const std::uint8_t* covering, const std::uint8_t* far, std::int64_t samples,
             std::uint16_t* to) {
  for (std::int64_t i = 0; i < samples; ++i) to[i] = std::uint16_t(3 * covering[i] + far[i]);
}

void VectorPixels(const WebpRow& row, Native native, const std::uint16_t* u, const std::uint16_t* v,
                  std::uint8_t* to) {
  PlainPixels(row, native, u, v, to);
}

constexpr std::int64_t kPixels = 1;

#else

// At most 256 bits: with 512 this loop is faster, but the rest of the decoder gets a lower clock.
using U8 = hn::CappedTag<std::uint8_t, 32>;
using U16 = hn::Repartition<std::uint16_t, U8>;
using VU8 = hn::Vec<U8>;
using VU16 = hn::Vec<U16>;
constexpr std::int64_t kPixels = hn::MaxLanes(U8()), kSamples = hn::MaxLanes(U16());
static_assert(kPixels <= std::int64_t(kWebpRowSlack));

void MixRows(const std::uint8_t* covering, const std::uint8_t* far, std::int64_t samples,
             std::uint16_t* to) {
  const hn::Rebind<std::uint8_t, U16> narrow;
  for (std::int64_t i = 0; i < samples; i += kSamples) {
    const VU16 a = hn::PromoteTo(U16(), hn::LoadU(narrow, covering + i));
    const VU16 b = hn::PromoteTo(U16(), hn::LoadU(narrow, far + i));
    hn::StoreU(hn::Add(hn::Add(hn::Add(a, a), a), b), U16(), to + i);
  }
}

// The product / 256 of a factor and values that are in the high byte of their lanes.
HWY_INLINE VU16 Times(VU16 high_bytes, int factor) {
  return hn::MulHigh(high_bytes, hn::Set(U16(), std::uint16_t(factor)));
}

// Colours in 64ths; no lane goes below zero.
HWY_INLINE void Colours(VU16 y, VU16 u, VU16 v, VU16& red, VU16& green, VU16& blue) {
  const VU16 luma = Times(y, kLuma);
  red = hn::SaturatedSub(hn::Add(luma, Times(v, kRedV)), hn::Set(U16(), kRedLess));
  green = hn::SaturatedSub(hn::Add(luma, hn::Set(U16(), kGreenMore)),
                           hn::Add(Times(u, kGreenU), Times(v, kGreenV)));
  blue = hn::SaturatedSub(hn::Add(luma, Times(u, kBlueU)), hn::Set(U16(), kBlueLess));
}

// A sixteenth of the sum, in the high byte of each lane.
HWY_INLINE VU16 MixColumns(VU16 thrice, VU16 beside) {
  return hn::And(hn::ShiftLeft<4>(hn::Add(thrice, beside)), hn::Set(U16(), 0xFF00));
}

// Bytes of even and odd columns in turn.
HWY_INLINE VU8 Bytes(VU16 even, VU16 odd) {
  const VU16 most = hn::Set(U16(), (256 << kResultBits) - 1);
  const VU16 low = hn::ShiftRight<kResultBits>(hn::Min(even, most));
  const VU16 high = hn::ShiftLeft<8 - kResultBits>(hn::Min(odd, most));
  return hn::BitCast(U8(), hn::Or(low, hn::And(high, hn::Set(U16(), 0xFF00))));
}

template <Native kNative>
HWY_INLINE void PutPixels(VU8 red, VU8 green, VU8 blue, VU8 alpha, std::uint8_t* to) {
  if constexpr (kNative == Native::rgba) {
    hn::StoreInterleaved4(red, green, blue, alpha, U8(), to);
  } else if constexpr (kNative == Native::bgr) {
    hn::StoreInterleaved3(blue, green, red, U8(), to);
  } else {
    hn::StoreInterleaved3(red, green, blue, U8(), to);
  }
}

template <Native kNative>
void PixelsOf(const WebpRow& row, const std::uint16_t* u, const std::uint16_t* v,
              std::uint8_t* to) {
  constexpr int kChannels = kNative == Native::rgba ? 4 : 3;
  const VU16 eight = hn::Set(U16(), 8);
  HWY_ALIGN std::uint8_t last[kPixels * kChannels];
  for (std::int64_t x = 0; x < row.width; x += kPixels) {
    const VU16 here_u = hn::LoadU(U16(), u + x / 2 + 1), here_v = hn::LoadU(U16(), v + x / 2 + 1);
    const VU16 thrice_u = hn::Add(hn::Add(hn::Add(here_u, here_u), here_u), eight);
    const VU16 thrice_v = hn::Add(hn::Add(hn::Add(here_v, here_v), here_v), eight);
    const VU16 y = hn::BitCast(U16(), hn::LoadU(U8(), row.y + x));
    VU16 even_red, even_green, even_blue, odd_red, odd_green, odd_blue;
    Colours(hn::ShiftLeft<8>(y), MixColumns(thrice_u, hn::LoadU(U16(), u + x / 2)),
            MixColumns(thrice_v, hn::LoadU(U16(), v + x / 2)), even_red, even_green, even_blue);
    Colours(hn::And(y, hn::Set(U16(), 0xFF00)),
            MixColumns(thrice_u, hn::LoadU(U16(), u + x / 2 + 2)),
            MixColumns(thrice_v, hn::LoadU(U16(), v + x / 2 + 2)), odd_red, odd_green, odd_blue);
    const VU8 alpha = row.alpha ? hn::LoadU(U8(), row.alpha + x) : hn::Set(U8(), 255);
    const bool whole = x + kPixels <= row.width;
    PutPixels<kNative>(Bytes(even_red, odd_red), Bytes(even_green, odd_green),
                       Bytes(even_blue, odd_blue), alpha, whole ? to + x * kChannels : last);
    if (!whole) std::memcpy(to + x * kChannels, last, std::size_t(row.width - x) * kChannels);
  }
}

void VectorPixels(const WebpRow& row, Native native, const std::uint16_t* u, const std::uint16_t* v,
                  std::uint8_t* to) {
  switch (native) {
    case Native::rgba:
      return PixelsOf<Native::rgba>(row, u, v, to);
    case Native::bgr:
      return PixelsOf<Native::bgr>(row, u, v, to);
    default:
      return PixelsOf<Native::rgb>(row, u, v, to);
  }
}

#endif

// A sample before the first one and one after the last; MixRows may write a vector too much.
void MixChroma(const std::uint8_t* covering, const std::uint8_t* far, std::int64_t samples,
               std::uint16_t* to) {
  MixRows(covering, far, samples, to + 1);
  to[0] = to[1];
  to[samples + 1] = to[samples];
}

void WebpPixels(const WebpRow& row, Native native, std::uint16_t* memory, std::uint8_t* to) {
  const std::int64_t samples = (row.width + 1) / 2;
  std::uint16_t* const u = memory;
  std::uint16_t* const v = memory + webp_row_memory(row.width) / 2;
  MixChroma(row.u, row.far_u, samples, u);
  MixChroma(row.v, row.far_v, samples, v);
  if (row.width < kPixels) return PlainPixels(row, native, u, v, to);
  VectorPixels(row, native, u, v, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace penstock::media
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::media {

HWY_EXPORT(WebpPixels);

std::size_t webp_row_memory(std::int64_t width) noexcept {
  return 2 * (std::size_t(width + 1) / 2 + kWebpRowSlack);
}

void webp_pixels(const WebpRow& row, Native native, std::uint16_t* memory,
                 std::uint8_t* to) noexcept {
  HWY_DYNAMIC_DISPATCH(WebpPixels)(row, native, memory, to);
}

}  // namespace penstock::media
#endif
