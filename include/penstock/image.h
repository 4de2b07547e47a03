// Pixels in memory, as decoders, transforms and users share them.
//
// An image is rows of interleaved 8-bit channels: 1 (L), 2 (LA), 3 (RGB) or 4 (RGBA, CMYK).
// Views borrow: whoever made one keeps the pixels alive. row_bytes is the distance between rows and
// may be larger than width * channels, or negative for an image stored bottom up.
//
// Thread safety: plain values. Two threads may read the same pixels; a writer must be alone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

struct ConstImageView {
  const std::uint8_t* data = nullptr;
  std::int64_t height = 0;
  std::int64_t width = 0;
  int channels = 0;
  std::ptrdiff_t row_bytes = 0;

  const std::uint8_t* row(std::int64_t y) const { return data + y * row_bytes; }
  std::int64_t used_row_bytes() const { return width * channels; }
};

struct ImageView {
  std::uint8_t* data = nullptr;
  std::int64_t height = 0;
  std::int64_t width = 0;
  int channels = 0;
  std::ptrdiff_t row_bytes = 0;

  std::uint8_t* row(std::int64_t y) const { return data + y * row_bytes; }
  std::int64_t used_row_bytes() const { return width * channels; }
  operator ConstImageView() const { return {data, height, width, channels, row_bytes}; }
};

// A region in source pixels, fractional edges allowed; right and bottom are exclusive.
struct Box {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;

  double width() const { return right - left; }
  double height() const { return bottom - top; }
};

// A region of whole pixels.
struct Rect {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t width = 0;
  std::int64_t height = 0;

  Box box() const {
    return {double(x), double(y), double(x) + double(width), double(y) + double(height)};
  }
};

// Pillow's filters. All but nearest widen with the scale when shrinking, so they antialias.
enum class Filter : std::uint8_t { nearest, box, bilinear, hamming, bicubic, lanczos };

}  // namespace penstock
