// How the ops that make 8-bit images of 8-bit images are put together.
//
// Thread safety: as ImageOp's.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "transform/image_op.h"

namespace penstock {

struct PixelSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
  int channels = 0;
};

// `size` says what becomes of an image (which has been checked), `work` makes it.
using PixelSizeRule = std::function<Result<PixelSize>(const ConstImageView& image)>;
using PixelWork =
    std::function<Status(const ConstImageView& image, RandomStream& random, const ImageView& out)>;

ImageOp pixels_op(std::string name, PixelSizeRule size, PixelWork work, bool random = false);

inline Result<PixelSize> same_size(const ConstImageView& image) {
  return PixelSize{image.height, image.width, image.channels};
}

// Error: not positive.
Status check_size(const Size& size);

// The box of `image` to `out`; colours are weighted by alpha if there are 2 or 4 channels.
Status resize_box(const ConstImageView& image, const Box& box, const ImageView& out, Filter filter);

}  // namespace penstock
