// Colour conversions, equal to Pillow's Image.convert.
//
// Thread safety: pure functions over the caller's pixels.
#pragma once

#include <cstdint>

#include "penstock/error.h"
#include "penstock/image.h"

namespace penstock {

// What the channels of a pixel are.
enum class Colour : std::uint8_t { l, la, rgb, rgba, cmyk, bgr };

int channels_of(Colour colour) noexcept;

// One row; the two may not overlap. `to` is anything but cmyk.
//   grey is (19595 R + 38470 G + 7471 B + 32768) / 65536
//   alpha is dropped, not blended; where there was none it is 255
//   CMYK becomes (255 - K) - C * (255 - K) / 255, rounded
void convert_row(const std::uint8_t* row, Colour from, std::int64_t pixels, Colour to,
                 std::uint8_t* out) noexcept;

// Whole images. Error: sizes differ, the channels are not the colours', or `to` is cmyk.
Status convert_colour(ConstImageView source, Colour from, Colour to, ImageView out);

// Each RGB pixel becomes its grey, three times; alpha stays. In place, for 3 and 4 channels.
Status grayscale(ImageView image);

// The grey of one RGB pixel.
inline std::uint8_t luma(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >>
                                   16);
}

}  // namespace penstock
