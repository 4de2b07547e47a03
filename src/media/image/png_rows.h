// Rows of a PNG, unfiltered: what pixels they hold, and spreading packed samples to whole bytes.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "media/image/pixel_rows.h"
#include "media/image/png_file.h"

namespace penstock::media {

// What expand_png_row will produce for `mode`.
Native png_native(const PngFile& file, PixelMode mode) noexcept;

// One unfiltered row of `pixels` pixels to native pixels.
void expand_png_row(const PngFile& file, Native native, const std::uint8_t* from,
                    std::int64_t pixels, std::uint8_t* to) noexcept;

}  // namespace penstock::media
