// How a JPEG's colours serve a pixel mode.
//
// Thread safety: pure functions.
#pragma once

#include "media/image/jpeg_reader.h"
#include "media/image/pixel_rows.h"
#include "penstock/media.h"

namespace penstock::media {

// What to ask a JpegReader for so that convert_row can make `mode` of it at the least cost.
JpegColour jpeg_colour(const JpegHeader& header, PixelMode mode, bool exact);

Native native_of(JpegColour colour);

}  // namespace penstock::media
