#include "transform/enhance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "transform/grey_kernels.h"
#include "transform/view_checks.h"

namespace penstock {
namespace {

// Rows are worked on in pieces of this many pixels, so that the grey between stays in the first
// cache.
constexpr std::int64_t piece = 512;

Status check(const ImageView& image, double factor) {
  if (Status view = check_view("image", image); !view) return view;
  if (!std::isfinite(static_cast<float>(factor))) {
    return Error(Code::invalid_argument, "factor must be finite, got " + std::to_string(factor));
  }
  return {};
}

// Calls body(pixels of the image, how many) for each piece of each row.
template <class Body>
void for_each_piece(const ImageView& image, const Body& body) {
  for (std::int64_t y = 0; y < image.height; ++y)
    for (std::int64_t x = 0; x < image.width; x += piece)
      body(image.row(y) + x * image.channels, std::min(piece, image.width - x));
}

void blend_with(const ImageView& image, std::uint8_t degenerate, float factor) {
  const int channels = image.channels;
  if (channels == 1 || channels == 3) {
    for (std::int64_t y = 0; y < image.height; ++y)
      blend_values(degenerate, image.used_row_bytes(), factor, image.row(y));
    return;
  }
  for_each_piece(image, [&](std::uint8_t* pixels, std::int64_t count) {
    std::array<std::uint8_t, piece * 4> degenerates;  // alpha stays what it is
    for (std::int64_t i = 0; i < count * channels; ++i)
      degenerates[std::size_t(i)] = i % channels == channels - 1 ? pixels[i] : degenerate;
    blend_values(degenerates.data(), count * channels, factor, pixels);
  });
}

std::uint8_t mean_grey(const ImageView& image) {
  std::uint64_t sum = 0;
  for_each_piece(image, [&](const std::uint8_t* pixels, std::int64_t count) {
    std::array<std::uint8_t, piece> grey;
    const std::uint8_t* from = pixels;
    if (image.channels >= 3) grey_pixels(pixels, count, image.channels, grey.data());
    if (image.channels >= 3) from = grey.data();
    const std::int64_t step = image.channels == 2 ? 2 : 1;
    std::uint32_t part = 0;
    for (std::int64_t x = 0; x < count; ++x) part += from[x * step];
    sum += part;
  });
  const auto count = static_cast<double>(image.width) * static_cast<double>(image.height);
  return static_cast<std::uint8_t>(static_cast<double>(sum) / count + 0.5);
}

}  // namespace

Status adjust_brightness(ImageView image, double factor) {
  if (Status fine = check(image, factor); !fine) return fine;
  const auto f = static_cast<float>(factor);
  if (f != 1.0f) blend_with(image, 0, f);
  return {};
}

Status adjust_contrast(ImageView image, double factor) {
  if (Status fine = check(image, factor); !fine) return fine;
  const auto f = static_cast<float>(factor);
  if (f != 1.0f) blend_with(image, mean_grey(image), f);
  return {};
}

Status adjust_saturation(ImageView image, double factor) {
  if (Status fine = check(image, factor); !fine) return fine;
  const auto f = static_cast<float>(factor);
  if (f == 1.0f || image.channels < 3) return {};  // grey has no saturation to change
  for_each_piece(image, [&](std::uint8_t* pixels, std::int64_t count) {
    std::array<std::uint8_t, piece * 4> grey;
    spread_grey(pixels, count, image.channels, grey.data());
    blend_values(grey.data(), count * image.channels, f, pixels);
  });
  return {};
}

}  // namespace penstock
