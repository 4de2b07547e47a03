// What a vector does not fill is done by the plain loops, which are also the reference.
#include "transform/grey_kernels.h"

#include <algorithm>

#include "transform/colour.h"
#include "transform/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transform/grey_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#ifndef PENSTOCK_TRANSFORM_GREY_ONCE
#define PENSTOCK_TRANSFORM_GREY_ONCE
namespace penstock {

inline std::uint8_t blend(int degenerate, int value, float factor) {
  const float mixed =
      static_cast<float>(degenerate) + factor * static_cast<float>(value - degenerate);
  if (mixed <= 0.0f) return 0;
  if (mixed >= 255.0f) return 255;
  return static_cast<std::uint8_t>(mixed);
}

}  // namespace penstock
#endif

HWY_BEFORE_NAMESPACE();
namespace penstock {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void grey_plain(const std::uint8_t* from, std::int64_t pixels, int channels, int out_channels,
                std::uint8_t* to) {
  for (std::int64_t x = 0; x < pixels; ++x, from += channels, to += out_channels) {
    to[0] = luma(from);
    if (out_channels == 1) continue;
    to[1] = to[2] = to[0];
    if (out_channels == 4) to[3] = from[3];
  }
}

#if HWY_TARGET == HWY_SCALAR

void GreyPixels(const std::uint8_t* from, std::int64_t pixels, int channels, int out_channels,
                std::uint8_t* to) {
  grey_plain(from, pixels, channels, out_channels, to);
}

void BlendEach(const std::uint8_t* degenerate, std::int64_t count, float factor,
               std::uint8_t* values) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = blend(degenerate[i], values[i], factor);
}

void BlendAll(std::uint8_t degenerate, std::int64_t count, float factor, std::uint8_t* values) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = blend(degenerate, values[i], factor);
}

#else

// At most 256 bits: wider vectors take channels apart more slowly.
using Bytes = hn::CappedTag<std::uint8_t, 32>;
using VBytes = hn::Vec<Bytes>;
using I32 = hn::Repartition<std::int32_t, Bytes>;
using F32 = hn::Repartition<float, Bytes>;
using QuarterU8 = hn::Rebind<std::uint8_t, I32>;  // as many bytes as there are words
using VI32 = hn::Vec<I32>;
constexpr std::int64_t bytes_at_once = hn::MaxLanes(Bytes());
constexpr std::int64_t words = hn::MaxLanes(I32());

HWY_INLINE VI32 load_words(const std::uint8_t* from) {
  return hn::PromoteTo(I32(), hn::LoadU(QuarterU8(), from));
}

HWY_INLINE VBytes grey_of(VBytes red, VBytes green, VBytes blue) {
  HWY_ALIGN std::uint8_t r[bytes_at_once], g[bytes_at_once], b[bytes_at_once];
  HWY_ALIGN std::uint8_t grey[bytes_at_once];
  hn::Store(red, Bytes(), r);
  hn::Store(green, Bytes(), g);
  hn::Store(blue, Bytes(), b);
  for (std::int64_t i = 0; i < bytes_at_once; i += words) {
    VI32 sum = hn::Mul(load_words(r + i), hn::Set(I32(), 19595));
    sum = hn::Add(sum, hn::Mul(load_words(g + i), hn::Set(I32(), 38470)));
    sum = hn::Add(sum, hn::Mul(load_words(b + i), hn::Set(I32(), 7471)));
    sum = hn::ShiftRight<16>(hn::Add(sum, hn::Set(I32(), 0x8000)));
    hn::StoreU(hn::DemoteTo(QuarterU8(), sum), QuarterU8(), grey + i);
  }
  return hn::Load(Bytes(), grey);
}

void GreyPixels(const std::uint8_t* from, std::int64_t pixels, int channels, int out_channels,
                std::uint8_t* to) {
  if (pixels < bytes_at_once) return grey_plain(from, pixels, channels, out_channels, to);
  for (std::int64_t x = 0;; x += bytes_at_once) {
    x = std::min(x, pixels - bytes_at_once);  // the last one overlaps the one before
    VBytes red, green, blue, alpha = hn::Zero(Bytes());
    if (channels == 3) {
      hn::LoadInterleaved3(Bytes(), from + x * 3, red, green, blue);
    } else {
      hn::LoadInterleaved4(Bytes(), from + x * 4, red, green, blue, alpha);
    }
    const VBytes grey = grey_of(red, green, blue);
    if (out_channels == 1) {
      hn::StoreU(grey, Bytes(), to + x);
    } else if (out_channels == 3) {
      hn::StoreInterleaved3(grey, grey, grey, Bytes(), to + x * 3);
    } else {
      hn::StoreInterleaved4(grey, grey, grey, alpha, Bytes(), to + x * 4);
    }
    if (x + bytes_at_once == pixels) return;
  }
}

HWY_INLINE void blend_words(VI32 degenerate, float factor, std::uint8_t* values) {
  const auto rest = hn::ConvertTo(F32(), hn::Sub(load_words(values), degenerate));
  const auto mixed =
      hn::Add(hn::ConvertTo(F32(), degenerate), hn::Mul(hn::Set(F32(), factor), rest));
  const auto clipped = hn::Min(hn::Max(mixed, hn::Zero(F32())), hn::Set(F32(), 255.0f));
  hn::StoreU(hn::DemoteTo(QuarterU8(), hn::ConvertTo(I32(), clipped)), QuarterU8(), values);
}

void BlendEach(const std::uint8_t* degenerate, std::int64_t count, float factor,
               std::uint8_t* values) {
  std::int64_t i = 0;
  for (; i + words <= count; i += words)
    blend_words(load_words(degenerate + i), factor, values + i);
  for (; i < count; ++i) values[i] = blend(degenerate[i], values[i], factor);
}

void BlendAll(std::uint8_t degenerate, std::int64_t count, float factor, std::uint8_t* values) {
  const VI32 all = hn::Set(I32(), degenerate);
  std::int64_t i = 0;
  for (; i + words <= count; i += words) blend_words(all, factor, values + i);
  for (; i < count; ++i) values[i] = blend(degenerate, values[i], factor);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace penstock
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock {

HWY_EXPORT(GreyPixels);
HWY_EXPORT(BlendEach);
HWY_EXPORT(BlendAll);

void grey_pixels(const std::uint8_t* from, std::int64_t pixels, int channels, std::uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(GreyPixels)(from, pixels, channels, 1, to);
}

void spread_grey(const std::uint8_t* from, std::int64_t pixels, int channels, std::uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(GreyPixels)(from, pixels, channels, channels, to);
}

void blend_values(const std::uint8_t* degenerate, std::int64_t count, float factor,
                  std::uint8_t* values) {
  HWY_DYNAMIC_DISPATCH(BlendEach)(degenerate, count, factor, values);
}

void blend_values(std::uint8_t degenerate, std::int64_t count, float factor, std::uint8_t* values) {
  HWY_DYNAMIC_DISPATCH(BlendAll)(degenerate, count, factor, values);
}

}  // namespace penstock
#endif
