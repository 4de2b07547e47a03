// How a JPEG's colours serve a pixel mode, and which way up it is.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "media/image/jpeg_reader.h"
#include "media/image/pixel_rows.h"
#include "penstock/media.h"

namespace penstock::media {

// What to ask a JpegReader for so that convert_row can make `mode` of it at the least cost.
JpegColour jpeg_colour(const JpegHeader& header, PixelMode mode, bool exact);

Native native_of(JpegColour colour);

// EXIF orientation, 1 to 8, from a JPEG's own markers; 1 where there is none.
int jpeg_orientation(std::span<const std::uint8_t> bytes) noexcept;

}  // namespace penstock::media
