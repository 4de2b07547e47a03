#include "media/image/pixel_rows.h"

#include <cstring>

#include "transform/colour.h"

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

// The first of Native are the Colours.
static_assert(int(Native::l) == int(Colour::l) && int(Native::la) == int(Colour::la) &&
              int(Native::rgb) == int(Colour::rgb) && int(Native::rgba) == int(Colour::rgba) &&
              int(Native::cmyk) == int(Colour::cmyk) && int(Native::bgr) == int(Colour::bgr));

Colour colour_of(PixelMode mode) {
  switch (mode) {
    case PixelMode::rgb:
      return Colour::rgb;
    case PixelMode::rgba:
      return Colour::rgba;
    case PixelMode::bgr:
      return Colour::bgr;
    default:
      return Colour::l;
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
  penstock::convert_row(from, Colour(native), width, colour_of(mode), to);
}

}  // namespace media
}  // namespace penstock
