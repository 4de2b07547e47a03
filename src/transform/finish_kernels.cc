// Interleaved output keeps the order of bytes: only the type changes, with a scale that repeats
// every `channels` lanes. Planar output takes the channels apart first. What a vector does not fill
// is done by the plain loops, which are also the reference.
#include "transform/finish_kernels.h"

#include <algorithm>
#include <cstring>

#include "transform/half.h"
#include "transform/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transform/finish_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#ifndef PENSTOCK_TRANSFORM_FINISH_ONCE
#define PENSTOCK_TRANSFORM_FINISH_ONCE
namespace penstock {

// One value of each finished type. `Half` has its own type so that templates tell it from uint16.
struct Half {
  std::uint16_t bits;
};

inline void put(float value, float* to) {
  *to = value;
}
inline void put(float value, Half* to) {
  to->bits = to_half(value);
}

}  // namespace penstock
#endif

HWY_BEFORE_NAMESPACE();
namespace penstock {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Plain loops.

template <class T>
void scale_plain(const FinishSpec& spec, const std::uint8_t* from, std::int64_t step, int channel,
                 std::int64_t count, T* to) {
  const float scale = spec.scale[channel], bias = spec.bias[channel];
  for (std::int64_t i = 0; i < count; ++i) put(from[i * step] * scale + bias, to + i);
}

template <class T>
void interleaved_plain(const FinishSpec& spec, const std::uint8_t* from, std::int64_t pixels,
                       T* to) {
  for (std::int64_t x = 0; x < pixels; ++x)
    for (int c = 0; c < spec.channels; ++c, ++from) put(*from * spec.scale[c] + spec.bias[c], to++);
}

#if HWY_TARGET == HWY_SCALAR

template <class T>
void interleaved(const FinishSpec& spec, const std::uint8_t* from, std::int64_t pixels, T* to) {
  interleaved_plain(spec, from, pixels, to);
}

template <class T>
std::int64_t planar(const FinishSpec&, const std::uint8_t*, std::int64_t, T*, std::int64_t) {
  return 0;
}

#else

// At most 256 bits: rows are short, and wider vectors take channels apart more slowly.
using Bytes = hn::CappedTag<std::uint8_t, 32>;
using VBytes = hn::Vec<Bytes>;
using F32 = hn::Repartition<float, Bytes>;
using VF32 = hn::Vec<F32>;
using QuarterU8 = hn::Rebind<std::uint8_t, F32>;  // as many bytes as there are floats
constexpr std::int64_t bytes_at_once = hn::MaxLanes(Bytes());
constexpr std::int64_t floats = hn::MaxLanes(F32());

HWY_INLINE VF32 scaled(hn::Vec<QuarterU8> bytes, VF32 scale, VF32 bias) {
  const VF32 x = hn::ConvertTo(F32(), hn::PromoteTo(hn::Rebind<std::int32_t, F32>(), bytes));
  return hn::Add(hn::Mul(x, scale), bias);
}

HWY_INLINE void store(VF32 values, float* to) {
  hn::StoreU(values, F32(), to);
}

HWY_INLINE void store(VF32 values, Half* to) {
#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4
  // No instruction for it, and Highway's replacement does not round to nearest.
  HWY_ALIGN float lanes[floats];
  hn::Store(values, F32(), lanes);
  for (std::int64_t i = 0; i < floats; ++i) to[i].bits = to_half(lanes[i]);
#else
  const hn::Rebind<hwy::float16_t, F32> half;
  hn::StoreU(hn::DemoteTo(half, values), half, reinterpret_cast<hwy::float16_t*>(to));
#endif
}

template <class T>
void interleaved(const FinishSpec& spec, const std::uint8_t* from, std::int64_t pixels, T* to) {
  // Three vectors hold a whole number of pixels for any number of channels up to four.
  HWY_ALIGN float scales[3 * floats], biases[3 * floats];
  for (std::int64_t i = 0; i < 3 * floats; ++i) {
    scales[i] = spec.scale[static_cast<std::size_t>(i % spec.channels)];
    biases[i] = spec.bias[static_cast<std::size_t>(i % spec.channels)];
  }
  const VF32 scale0 = hn::Load(F32(), scales), bias0 = hn::Load(F32(), biases);
  const VF32 scale1 = hn::Load(F32(), scales + floats), bias1 = hn::Load(F32(), biases + floats);
  const VF32 scale2 = hn::Load(F32(), scales + 2 * floats);
  const VF32 bias2 = hn::Load(F32(), biases + 2 * floats);
  const std::int64_t values = pixels * spec.channels;
  if (values < 3 * floats) return interleaved_plain(spec, from, pixels, to);
  for (std::int64_t i = 0;; i += 3 * floats) {
    i = std::min(i, values - 3 * floats);  // the last one overlaps the one before
    store(scaled(hn::LoadU(QuarterU8(), from + i), scale0, bias0), to + i);
    store(scaled(hn::LoadU(QuarterU8(), from + i + floats), scale1, bias1), to + i + floats);
    store(scaled(hn::LoadU(QuarterU8(), from + i + 2 * floats), scale2, bias2),
          to + i + 2 * floats);
    if (i + 3 * floats == values) return;
  }
}

// Takes one vector of each channel apart.
HWY_INLINE void load_planes(const std::uint8_t* from, int channels, VBytes (&planes)[4]) {
  if (channels == 2) {
    hn::LoadInterleaved2(Bytes(), from, planes[0], planes[1]);
  } else if (channels == 3) {
    hn::LoadInterleaved3(Bytes(), from, planes[0], planes[1], planes[2]);
  } else {
    hn::LoadInterleaved4(Bytes(), from, planes[0], planes[1], planes[2], planes[3]);
  }
}

HWY_INLINE void store_plane(const FinishSpec&, int, VBytes values, std::uint8_t* to) {
  hn::StoreU(values, Bytes(), to);
}

template <class T>
HWY_INLINE void store_plane(const FinishSpec& spec, int channel, VBytes values, T* to) {
  const VF32 scale = hn::Set(F32(), spec.scale[static_cast<std::size_t>(channel)]);
  const VF32 bias = hn::Set(F32(), spec.bias[static_cast<std::size_t>(channel)]);
  HWY_ALIGN std::uint8_t bytes[bytes_at_once];
  hn::Store(values, Bytes(), bytes);
  for (std::int64_t i = 0; i < bytes_at_once; i += floats)
    store(scaled(hn::LoadU(QuarterU8(), bytes + i), scale, bias), to + i);
}

// Returns how many pixels it did: all, unless they do not fill a vector.
template <class T>
std::int64_t planar(const FinishSpec& spec, const std::uint8_t* from, std::int64_t pixels, T* to,
                    std::int64_t plane) {
  if (pixels < bytes_at_once) return 0;
  for (std::int64_t x = 0;; x += bytes_at_once) {
    x = std::min(x, pixels - bytes_at_once);  // the last one overlaps the one before
    const VBytes zero = hn::Zero(Bytes());
    VBytes planes[4] = {zero, zero, zero, zero};
    load_planes(from + x * spec.channels, spec.channels, planes);
    for (int c = 0; c < spec.channels; ++c) store_plane(spec, c, planes[c], to + c * plane + x);
    if (x + bytes_at_once == pixels) return pixels;
  }
}

#endif

template <class T>
void finish_float(const FinishSpec& spec, const std::uint8_t* from, std::int64_t y, std::int64_t x,
                  std::int64_t pixels, T* image) {
  if (spec.layout == ImageLayout::hwc || spec.channels == 1)
    return interleaved(spec, from, pixels, image + (y * spec.width + x) * spec.channels);
  T* to = image + y * spec.width + x;
  const std::int64_t plane = spec.height * spec.width;
  const std::int64_t done = planar(spec, from, pixels, to, plane);
  for (int c = 0; c < spec.channels; ++c)
    scale_plain(spec, from + done * spec.channels + c, spec.channels, c, pixels - done,
                to + c * plane + done);
}

void FinishPixels(const FinishSpec& spec, const std::uint8_t* from, std::int64_t y, std::int64_t x,
                  std::int64_t pixels, void* image) {
  if (spec.type == DType::float32)
    return finish_float(spec, from, y, x, pixels, static_cast<float*>(image));
  if (spec.type == DType::float16)
    return finish_float(spec, from, y, x, pixels, static_cast<Half*>(image));
  auto* bytes = static_cast<std::uint8_t*>(image);
  if (spec.layout == ImageLayout::hwc || spec.channels == 1) {
    std::memcpy(bytes + (y * spec.width + x) * spec.channels, from,
                static_cast<std::size_t>(pixels * spec.channels));
    return;
  }
  std::uint8_t* to = bytes + y * spec.width + x;
  const std::int64_t plane = spec.height * spec.width;
  for (std::int64_t i = planar(spec, from, pixels, to, plane); i < pixels; ++i)
    for (int c = 0; c < spec.channels; ++c) to[c * plane + i] = from[i * spec.channels + c];
}

// As many pixels as 16 bytes hold are turned round by a byte shuffle. With three channels that is
// five and a byte: it is read before the first, and written where the next pixels go.
template <int kChannels>
void mirror_channels(const std::uint8_t* from, std::int64_t pixels, std::uint8_t* to) {
  std::int64_t x = 0;
#if HWY_TARGET != HWY_SCALAR
  using Block = hn::FixedTag<std::uint8_t, 16>;
  constexpr int at_once = 16 / kChannels, early = 16 % kChannels;
  HWY_ALIGN std::uint8_t order[16] = {};
  for (int i = 0; i < at_once * kChannels; ++i) {
    order[i] = static_cast<std::uint8_t>((at_once - 1 - i / kChannels) * kChannels + i % kChannels +
                                         early);
  }
  const auto turn = hn::Load(Block(), order);
  for (; x * kChannels + 16 <= pixels * kChannels; x += at_once) {
    const auto block = hn::LoadU(Block(), from + (pixels - x - at_once) * kChannels - early);
    hn::StoreU(hn::TableLookupBytes(block, turn), Block(), to + x * kChannels);
  }
#endif
  for (; x < pixels; ++x)
    std::memcpy(to + x * kChannels, from + (pixels - 1 - x) * kChannels, kChannels);
}

void MirrorPixels(const std::uint8_t* from, std::int64_t pixels, int channels, std::uint8_t* to) {
  switch (channels) {
    case 1:
      return mirror_channels<1>(from, pixels, to);
    case 2:
      return mirror_channels<2>(from, pixels, to);
    case 3:
      return mirror_channels<3>(from, pixels, to);
    default:
      return mirror_channels<4>(from, pixels, to);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace penstock
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock {

HWY_EXPORT(FinishPixels);
HWY_EXPORT(MirrorPixels);

void finish_pixels(const FinishSpec& spec, const std::uint8_t* from, std::int64_t y, std::int64_t x,
                   std::int64_t pixels, void* image) {
  HWY_DYNAMIC_DISPATCH(FinishPixels)(spec, from, y, x, pixels, image);
}

void mirror_pixels(const std::uint8_t* from, std::int64_t pixels, int channels, std::uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(MirrorPixels)(from, pixels, channels, to);
}

}  // namespace penstock
#endif
