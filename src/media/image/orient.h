// Turning pictures upright: EXIF's eight orientations.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "penstock/image.h"
#include "penstock/media.h"

namespace penstock::media {

// Writes the picture at `from` (rows `row_bytes` apart, of shape `stored`) upright to `to`, which
// has the sides of `stored`, exchanged for orientations 5 to 8. The memories may not overlap.
void orient(const std::uint8_t* from, std::int64_t row_bytes, const ImageShape& stored,
            int orientation, PixelMemory to) noexcept;

// The stored pixels that make up `upright`, a rectangle of the upright picture.
Rect stored_rect(Rect upright, std::int64_t stored_width, std::int64_t stored_height,
                 int orientation) noexcept;

}  // namespace penstock::media
