// The structure of a PNG file: its chunks, checked, with the picture data still compressed.
//
// Thread safety: plain values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "penstock/error.h"

namespace penstock::media {

enum class PngColour : std::uint8_t { grey = 0, rgb = 2, palette = 3, grey_alpha = 4, rgba = 6 };

struct PngFile {
  std::int64_t width = 0;
  std::int64_t height = 0;
  int depth = 0;  // bits per sample: 1, 2, 4, 8, 16
  PngColour colour = PngColour::grey;
  bool interlaced = false;
  int orientation = 1;

  std::array<std::uint8_t, 256 * 4> palette{};  // RGBA; entries the file lacks are black
  bool has_transparency = false;  // tRNS: alpha in the palette, or one colour that is transparent
  std::array<std::uint16_t, 3> transparent{};

  // The first IDAT chunk's header; the others follow it directly.
  std::size_t data_offset = 0;
  std::size_t data_bytes = 0;  // of all IDAT chunks together
  int data_chunks = 0;

  int samples() const;  // per pixel, in the file
  int bits_per_pixel() const { return samples() * depth; }
  std::int64_t row_bytes(std::int64_t pixels) const { return (pixels * bits_per_pixel() + 7) / 8; }
};

bool is_png(std::span<const std::uint8_t> bytes) noexcept;

// Reads every chunk's header up to the end of the picture data, and the few chunks that matter.
// When strict, their checksums must be right.
Result<PngFile> read_png(std::span<const std::uint8_t> bytes, bool strict);

// Copies the data of all IDAT chunks to `to`, which has room for data_bytes.
void gather_png_data(std::span<const std::uint8_t> bytes, const PngFile& file, std::uint8_t* to);

}  // namespace penstock::media
