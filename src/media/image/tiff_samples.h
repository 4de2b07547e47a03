// What the numbers in a TIFF mean: from packed samples to pixels.
//
// Thread safety: plain values and pure functions.
#pragma once

#include <array>
#include <cstdint>

#include "media/image/pixel_rows.h"
#include "penstock/error.h"

namespace penstock::media {

struct TiffLayout {
  std::int64_t width = 0, height = 0;
  int orientation = 1;
  int bits = 1;     // per sample
  int samples = 1;  // per pixel
  int photometric = 0;
  int extra = -1;         // what the first extra sample is: 0 anything, 1 or 2 alpha; -1: not said
  bool separate = false;  // one plane per sample
  std::array<std::uint8_t, 256 * 3> palette{};

  int sample_bytes() const { return bits == 16 ? 2 : 1; }
};

// The pixels assemble_tiff_row makes, or an Error for a layout we do not know.
Result<Native> tiff_native(const TiffLayout& layout, PixelMode mode);

// One row as stored to one sample per byte (or two, for 16 bits), `samples` per pixel. With planes
// apart, `from` holds plane number `plane` only and fills that sample of each pixel.
void unpack_tiff_samples(const std::uint8_t* from, const TiffLayout& layout, int plane,
                         std::uint8_t* to) noexcept;

void assemble_tiff_row(const std::uint8_t* samples, const TiffLayout& layout, Native native,
                       std::uint8_t* to) noexcept;

}  // namespace penstock::media
