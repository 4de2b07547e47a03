// Flips, rotations by quarter turns and EXIF orientations: the eight ways to lay an image down.
//
// Thread safety: pure functions over the caller's pixels. `out` may not overlap `source`.
#pragma once

#include "penstock/error.h"
#include "penstock/image.h"

namespace penstock {

// Turns an image stored with an EXIF orientation upright, as Pillow's ImageOps.exif_transpose.
// 1 copies; 5 to 8 exchange width and height. Error: orientation is not 1 to 8, or out's size.
Status orient(ConstImageView source, int orientation, ImageView out);

Status flip_horizontal(ConstImageView source, ImageView out);  // left to right
Status flip_vertical(ConstImageView source, ImageView out);    // top to bottom

// Quarter turns against the clock, any whole number of them; as numpy.rot90.
Status rotate90(ConstImageView source, int turns, ImageView out);

// orient() for those who have checked: pixels of 1, 2, 3, 4, 6 or 8 bytes, which is what `channels`
// says here.
void orient_pixels(const ConstImageView& source, int orientation, const ImageView& out) noexcept;

// The stored pixels that make up `upright`, a rectangle of the upright image.
Rect stored_rect(Rect upright, std::int64_t stored_width, std::int64_t stored_height,
                 int orientation) noexcept;

}  // namespace penstock
