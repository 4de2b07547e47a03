// Cropping, which copies nothing, and copying, which does.
//
// Thread safety: pure functions over the caller's pixels.
#pragma once

#include "penstock/error.h"
#include "penstock/image.h"

namespace penstock {

struct Size {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// The size whose short side is `side`, in the same shape; the long side is cut to a whole number,
// as torchvision's Resize does. All numbers positive.
Size with_short_side(std::int64_t width, std::int64_t height, std::int64_t side);

// The part of an image, as a view of the same pixels. Error: the rectangle is empty or reaches
// outside.
Result<ConstImageView> crop(ConstImageView source, Rect rect);
Result<ImageView> crop(ImageView source, Rect rect);

// The rectangle of the given size in the middle. Half of an odd rest is rounded to even, as
// torchvision's CenterCrop does. Error: the image is smaller.
Result<Rect> centre(std::int64_t src_width, std::int64_t src_height, std::int64_t width,
                    std::int64_t height);

// Error: sizes or channels differ. The two may not overlap.
Status copy_image(ConstImageView source, ImageView out);

}  // namespace penstock
