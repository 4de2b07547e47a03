// Brightness, contrast and saturation, equal to Pillow's ImageEnhance bit for bit.
//
// Each blends the image with a degenerate one: factor 0 gives the degenerate image, 1 the image
// itself, more than 1 exaggerates. In single precision: degenerate + factor * (pixel - degenerate),
// clipped, then cut to a whole number. Alpha (the last of 2 or 4 channels) stays.
//
// Thread safety: in place over the caller's pixels; one thread at a time per image.
#pragma once

#include "penstock/error.h"
#include "penstock/image.h"

namespace penstock {

// Error: factor is not finite, or the image is not one.
Status adjust_brightness(ImageView image, double factor);  // degenerate: black
Status adjust_contrast(ImageView image, double factor);    // degenerate: the mean grey
Status adjust_saturation(ImageView image, double factor);  // degenerate: the image in grey

}  // namespace penstock
