// From "this crop, this size" to what a decoder must deliver and a resampler must do with it.
//
// Thread safety: pure functions over plain values.
#pragma once

#include <cstdint>

#include "penstock/media.h"
#include "transform/resample.h"

namespace penstock::media {

// 1, 2, 4 or 8: the most a picture may shrink while it is decoded so that at least `min_left` times
// the resolution of `out` remains in both directions. Only these have fast inverse transforms.
int decode_scale(std::int64_t width, std::int64_t height, std::int64_t out_width,
                 std::int64_t out_height, double min_left) noexcept;

struct ScaledCrop {
  Rect region;      // whole pixels of the scaled picture that cover the crop
  ResizeSpec spec;  // with the region as its source and the crop, now fractional, as its box
};

// How many pixels of the picture are one of what is decoded, across and down.
struct PixelScale {
  int x = 1;
  int y = 1;
};

// `width` and `height` are the picture's; plan.crop lies inside it and is not empty.
ScaledCrop scale_crop(const CropResize& plan, std::int64_t width, std::int64_t height,
                      PixelScale scale, int channels) noexcept;

// Fills in what an empty crop or keep stands for, and checks everything against the picture.
Result<CropResize> complete(const CropResize& plan, std::int64_t width, std::int64_t height);

}  // namespace penstock::media
