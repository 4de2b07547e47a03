#include "media/image/pixel_rows.h"

#include <cstring>

namespace penstock {

int channels_of(PixelMode mode) noexcept {
  switch (mode) {
    case PixelMode::rgb:
    case PixelMode::bgr:
      return 3;
    case PixelMode::rgba:
      return 4;
    case PixelMode::l:
    case PixelMode::index:
      return 1;
    case PixelMode::unchanged:
      return 0;
  }
  return 0;
}

namespace media {
namespace {

struct Rgb {
  std::uint8_t r, g, b;
};

// Pillow's L24: rounded 16-bit fixed point ITU-R 601-2 luma.
inline std::uint8_t luma(Rgb p) {
  return std::uint8_t((p.r * 19595u + p.g * 38470u + p.b * 7471u + 0x8000u) >> 16);
}

// Pillow's MULDIV255: a * b / 255, rounded.
inline int muldiv255(int a, int b) {
  const int t = a * b + 128;
  return ((t >> 8) + t) >> 8;
}

struct FromL {
  static constexpr int channels = 1;
  static Rgb colour(const std::uint8_t* p) { return {p[0], p[0], p[0]}; }
  static std::uint8_t grey(const std::uint8_t* p) { return p[0]; }
  static std::uint8_t alpha(const std::uint8_t*) { return 255; }
};
struct FromLA : FromL {
  static constexpr int channels = 2;
  static std::uint8_t alpha(const std::uint8_t* p) { return p[1]; }
};
struct FromRgb {
  static constexpr int channels = 3;
  static Rgb colour(const std::uint8_t* p) { return {p[0], p[1], p[2]}; }
  static std::uint8_t grey(const std::uint8_t* p) { return luma(colour(p)); }
  static std::uint8_t alpha(const std::uint8_t*) { return 255; }
};
struct FromRgba : FromRgb {
  static constexpr int channels = 4;
  static std::uint8_t alpha(const std::uint8_t* p) { return p[3]; }
};
struct FromBgr : FromRgb {
  static Rgb colour(const std::uint8_t* p) { return {p[2], p[1], p[0]}; }
  static std::uint8_t grey(const std::uint8_t* p) { return luma(colour(p)); }
};
struct FromCmyk {
  static constexpr int channels = 4;
  static Rgb colour(const std::uint8_t* p) {
    const int nk = 255 - p[3];
    const auto ink = [nk](int c) { return std::uint8_t(nk - muldiv255(c, nk)); };
    return {ink(p[0]), ink(p[1]), ink(p[2])};
  }
  static std::uint8_t grey(const std::uint8_t* p) { return luma(colour(p)); }
  static std::uint8_t alpha(const std::uint8_t*) { return 255; }
};

template <class From>
void convert(const std::uint8_t* __restrict from, std::int64_t width, PixelMode mode,
             std::uint8_t* __restrict to) {
  switch (mode) {
    case PixelMode::rgb:
      for (std::int64_t x = 0; x < width; ++x, from += From::channels, to += 3) {
        const Rgb p = From::colour(from);
        to[0] = p.r, to[1] = p.g, to[2] = p.b;
      }
      return;
    case PixelMode::bgr:
      for (std::int64_t x = 0; x < width; ++x, from += From::channels, to += 3) {
        const Rgb p = From::colour(from);
        to[0] = p.b, to[1] = p.g, to[2] = p.r;
      }
      return;
    case PixelMode::rgba:
      for (std::int64_t x = 0; x < width; ++x, from += From::channels, to += 4) {
        const Rgb p = From::colour(from);
        to[0] = p.r, to[1] = p.g, to[2] = p.b, to[3] = From::alpha(from);
      }
      return;
    case PixelMode::l:
      for (std::int64_t x = 0; x < width; ++x, from += From::channels) to[x] = From::grey(from);
      return;
    case PixelMode::index:
    case PixelMode::unchanged:
      return;
  }
}

}  // namespace

int channels_of(Native native) noexcept {
  switch (native) {
    case Native::l:
    case Native::l16:
      return 1;
    case Native::la:
    case Native::la16:
      return 2;
    case Native::rgb:
    case Native::bgr:
    case Native::rgb16:
      return 3;
    case Native::rgba:
    case Native::cmyk:
    case Native::rgba16:
    case Native::cmyk16:
      return 4;
  }
  return 0;
}

bool has_alpha(Native native, PixelMode mode) noexcept {
  if (mode != PixelMode::unchanged) return mode == PixelMode::rgba;
  return native == Native::la || native == Native::rgba || native == Native::la16 ||
         native == Native::rgba16;
}

int bits_of(Native native) noexcept {
  return native >= Native::l16 ? 16 : 8;
}

bool same_pixels(Native native, PixelMode mode) noexcept {
  switch (mode) {
    case PixelMode::rgb:
      return native == Native::rgb;
    case PixelMode::rgba:
      return native == Native::rgba;
    case PixelMode::l:
    case PixelMode::index:
      return native == Native::l;
    case PixelMode::bgr:
      return native == Native::bgr;
    case PixelMode::unchanged:
      return true;
  }
  return false;
}

Native reduce_to_8_bits(const std::uint8_t* from, Native native, std::int64_t width,
                        std::uint8_t* to) noexcept {
  const std::int64_t samples = width * channels_of(native);
  const bool clip = native == Native::l16;
  for (std::int64_t i = 0; i < samples; ++i) {
    std::uint16_t sample;
    std::memcpy(&sample, from + 2 * i, 2);
    to[i] = clip ? std::uint8_t(sample > 255 ? 255 : sample) : std::uint8_t(sample >> 8);
  }
  switch (native) {
    case Native::l16:
      return Native::l;
    case Native::la16:
      return Native::la;
    case Native::rgb16:
      return Native::rgb;
    case Native::rgba16:
      return Native::rgba;
    case Native::cmyk16:
      return Native::cmyk;
    default:
      return native;
  }
}

void convert_row(const std::uint8_t* from, Native native, std::int64_t width, PixelMode mode,
                 std::uint8_t* to) noexcept {
  if (same_pixels(native, mode)) {
    std::memcpy(to, from, std::size_t(width * channels_of(native)));
    return;
  }
  switch (native) {
    case Native::l:
      return convert<FromL>(from, width, mode, to);
    case Native::la:
      return convert<FromLA>(from, width, mode, to);
    case Native::rgb:
      return convert<FromRgb>(from, width, mode, to);
    case Native::rgba:
      return convert<FromRgba>(from, width, mode, to);
    case Native::bgr:
      return convert<FromBgr>(from, width, mode, to);
    case Native::cmyk:
      return convert<FromCmyk>(from, width, mode, to);
    default:
      return;
  }
}

}  // namespace media
}  // namespace penstock
