#include "transform/colour.h"

#include <algorithm>
#include <string>

#include "transform/view_checks.h"

namespace penstock {
namespace {

// Rounded a * b / 255.
unsigned multiply(unsigned a, unsigned b) {
  const unsigned product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

}  // namespace

int channels_in(ColourConversion conversion) {
  switch (conversion) {
    case ColourConversion::l_to_rgb:
      return 1;
    case ColourConversion::rgba_to_rgb:
    case ColourConversion::cmyk_to_rgb:
      return 4;
    default:
      return 3;
  }
}

int channels_out(ColourConversion conversion) {
  return conversion == ColourConversion::rgb_to_l ? 1 : 3;
}

void convert_row(ColourConversion conversion, const std::uint8_t* from, std::int64_t pixels,
                 std::uint8_t* to) {
  switch (conversion) {
    case ColourConversion::rgb_to_bgr:
      for (std::int64_t x = 0; x < pixels; ++x, from += 3, to += 3) {
        const std::uint8_t red = from[0], green = from[1], blue = from[2];
        to[0] = blue;
        to[1] = green;
        to[2] = red;
      }
      return;
    case ColourConversion::rgb_to_l:
      for (std::int64_t x = 0; x < pixels; ++x, from += 3) to[x] = luma(from);
      return;
    case ColourConversion::l_to_rgb:
      for (std::int64_t x = 0; x < pixels; ++x, to += 3) to[0] = to[1] = to[2] = from[x];
      return;
    case ColourConversion::rgba_to_rgb:
      for (std::int64_t x = 0; x < pixels; ++x, from += 4, to += 3) {
        to[0] = from[0];
        to[1] = from[1];
        to[2] = from[2];
      }
      return;
    case ColourConversion::cmyk_to_rgb:
      for (std::int64_t x = 0; x < pixels; ++x, from += 4, to += 3) {
        const unsigned white = 255u - from[3];
        for (int c = 0; c < 3; ++c)
          to[c] = static_cast<std::uint8_t>(white - multiply(from[c], white));
      }
      return;
  }
}

Status convert_colour(ColourConversion conversion, ConstImageView source, ImageView out) {
  if (Status view = check_view("source", source); !view) return view;
  if (source.channels != channels_in(conversion)) {
    return Error(Code::invalid_argument, "source has " + std::to_string(source.channels) +
                                             " channels, the conversion takes " +
                                             std::to_string(channels_in(conversion)));
  }
  if (Status shape = check_out(out, source.width, source.height, channels_out(conversion)); !shape)
    return shape;
  for (std::int64_t y = 0; y < source.height; ++y)
    convert_row(conversion, source.row(y), source.width, out.row(y));
  return {};
}

Status grayscale(ImageView image) {
  if (Status view = check_view("image", image); !view) return view;
  if (image.channels < 3) return {};  // grey already
  for (std::int64_t y = 0; y < image.height; ++y) {
    std::uint8_t* pixel = image.row(y);
    for (std::int64_t x = 0; x < image.width; ++x, pixel += image.channels)
      pixel[0] = pixel[1] = pixel[2] = luma(pixel);
  }
  return {};
}

}  // namespace penstock
