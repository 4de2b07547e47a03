#include "transform/enhance.h"

#include <array>
#include <cmath>
#include <string>

#include "transform/colour.h"
#include "transform/view_checks.h"

namespace penstock {
namespace {

// Pillow cuts without clipping for factors in 0..1, where the result is in range by itself.
std::uint8_t blend(int degenerate, int pixel, float factor) {
  const float value =
      static_cast<float>(degenerate) + factor * static_cast<float>(pixel - degenerate);
  if (value <= 0.0f) return 0;
  if (value >= 255.0f) return 255;
  return static_cast<std::uint8_t>(value);
}

Status check(const ImageView& image, double factor) {
  if (Status view = check_view("image", image); !view) return view;
  if (!std::isfinite(static_cast<float>(factor))) {
    return Error(Code::invalid_argument, "factor must be finite, got " + std::to_string(factor));
  }
  return {};
}

// Channels that carry colour: all but alpha.
int colours(const ImageView& image) {
  return image.channels == 2 || image.channels == 4 ? image.channels - 1 : image.channels;
}

void map_bytes(const ImageView& image, const std::array<std::uint8_t, 256>& table) {
  const int used = colours(image);
  for (std::int64_t y = 0; y < image.height; ++y) {
    std::uint8_t* row = image.row(y);
    if (used == image.channels) {
      for (std::int64_t i = 0; i < image.used_row_bytes(); ++i) row[i] = table[row[i]];
      continue;
    }
    for (std::int64_t x = 0; x < image.width; ++x, row += image.channels)
      for (int c = 0; c < used; ++c) row[c] = table[row[c]];
  }
}

void blend_with(const ImageView& image, int degenerate, float factor) {
  std::array<std::uint8_t, 256> table;
  for (int pixel = 0; pixel < 256; ++pixel)
    table[static_cast<std::size_t>(pixel)] = blend(degenerate, pixel, factor);
  map_bytes(image, table);
}

int mean_grey(const ImageView& image) {
  std::uint64_t sum = 0;
  for (std::int64_t y = 0; y < image.height; ++y) {
    const std::uint8_t* pixel = image.row(y);
    for (std::int64_t x = 0; x < image.width; ++x, pixel += image.channels)
      sum += image.channels >= 3 ? luma(pixel) : pixel[0];
  }
  const auto count = static_cast<double>(image.width) * static_cast<double>(image.height);
  return static_cast<int>(static_cast<double>(sum) / count + 0.5);
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
  for (std::int64_t y = 0; y < image.height; ++y) {
    std::uint8_t* pixel = image.row(y);
    for (std::int64_t x = 0; x < image.width; ++x, pixel += image.channels) {
      const int grey = luma(pixel);
      for (int c = 0; c < 3; ++c) pixel[c] = blend(grey, pixel[c], f);
    }
  }
  return {};
}

}  // namespace penstock
