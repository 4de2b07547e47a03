// Colour conversions, equal to Pillow's.
//
// Row functions work on `pixels` pixels and may not overlap unless they say so. Thread safety: pure
// functions over the caller's pixels.
#pragma once

#include <cstdint>

#include "penstock/error.h"
#include "penstock/image.h"

namespace penstock {

enum class ColourConversion : std::uint8_t {
  rgb_to_bgr,   // and back
  rgb_to_l,     // (19595 R + 38470 G + 7471 B + 32768) / 65536
  l_to_rgb,     // the grey in all three
  rgba_to_rgb,  // alpha is dropped, not blended
  cmyk_to_rgb,  // (255 - K) - C * (255 - K) / 255, rounded
};

int channels_in(ColourConversion conversion);
int channels_out(ColourConversion conversion);

void convert_row(ColourConversion conversion, const std::uint8_t* from, std::int64_t pixels,
                 std::uint8_t* to);

// Whole images. Error: sizes differ or the channels are not the conversion's.
Status convert_colour(ColourConversion conversion, ConstImageView source, ImageView out);

// Each RGB pixel becomes its grey, three times; alpha stays. In place, for 3 and 4 channels.
Status grayscale(ImageView image);

// The grey of one RGB pixel.
inline std::uint8_t luma(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >>
                                   16);
}

}  // namespace penstock
