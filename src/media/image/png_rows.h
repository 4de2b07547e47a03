// Rows of a PNG: undoing the filters, and spreading packed samples to whole bytes.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "media/image/pixel_rows.h"
#include "media/image/png_file.h"

namespace penstock::media {

// Undoes filter `type` (0 to 4) on a row of `bytes` bytes, in place. `above` is the row above,
// already undone, or a row of zeros. `step` is the distance to the pixel on the left in bytes: 1,
// 2, 3, 4, 6 or 8. False if there is no such filter.
bool unfilter_png_row(int type, std::uint8_t* row, const std::uint8_t* above, std::int64_t bytes,
                      int step) noexcept;

// What expand_png_row will produce for `mode`.
Native png_native(const PngFile& file, PixelMode mode) noexcept;

// One unfiltered row of `pixels` pixels to native pixels.
void expand_png_row(const PngFile& file, Native native, const std::uint8_t* from,
                    std::int64_t pixels, std::uint8_t* to) noexcept;

}  // namespace penstock::media
