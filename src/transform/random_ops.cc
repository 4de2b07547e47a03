// The ops that draw random numbers.
#include <cmath>
#include <utility>

#include "transform/enhance.h"
#include "transform/orientation.h"
#include "transform/pixels_op.h"

namespace penstock {

Result<ImageOp> random_resized_crop_op(Size size, const ResizedCropRange& range, Filter filter) {
  if (Status fine = check_size(size); !fine) return std::move(fine).error();
  if (Status fine = check(range); !fine) return std::move(fine).error();
  return pixels_op(
      "random_resized_crop",
      [size](const ConstImageView& image) -> Result<PixelSize> {
        return PixelSize{size.height, size.width, image.channels};
      },
      [range, filter](const ConstImageView& image, RandomStream& random,
                      const ImageView& out) -> Status {
        const Rect rect = draw_resized_crop(image.width, image.height, range, random);
        const auto part = crop(image, rect);
        if (!part) return part.error();
        return resize_box(*part, {0, 0, double(rect.width), double(rect.height)}, out, filter);
      },
      true);
}

Result<ImageOp> random_crop_op(Size size) {
  if (Status fine = check_size(size); !fine) return std::move(fine).error();
  return pixels_op(
      "random_crop",
      [size](const ConstImageView& image) -> Result<PixelSize> {
        const auto fits = centre(image.width, image.height, size.width, size.height);
        if (!fits) return fits.error();
        return PixelSize{size.height, size.width, image.channels};
      },
      [size](const ConstImageView& image, RandomStream& random, const ImageView& out) -> Status {
        const Rect rect = draw_crop(image.width, image.height, size.width, size.height, random);
        const auto part = crop(image, rect);
        return part ? copy_image(*part, out) : Status(part.error());
      },
      true);
}

Result<ImageOp> random_flip_op(double probability, bool vertical) {
  if (!(probability >= 0 && probability <= 1)) {
    return Error(Code::invalid_argument,
                 "probability must be 0 to 1, got " + std::to_string(probability));
  }
  return pixels_op(
      "random_flip", same_size,
      [probability, vertical](const ConstImageView& image, RandomStream& random,
                              const ImageView& out) {
        if (!draw_flip(probability, random)) return copy_image(image, out);
        return vertical ? flip_vertical(image, out) : flip_horizontal(image, out);
      },
      true);
}

Result<ImageOp> color_jitter_op(const std::array<double, 3>& strength) {
  for (const double each : strength) {
    if (!std::isfinite(static_cast<float>(each)) || each < 0) {
      return Error(Code::invalid_argument,
                   "a strength must be 0 or more and finite, got " + std::to_string(each));
    }
  }
  return pixels_op(
      "color_jitter", same_size,
      [strength](const ConstImageView& image, RandomStream& random,
                 const ImageView& out) -> Status {
        if (Status copied = copy_image(image, out); !copied) return copied;
        const Jitter jitter = draw_jitter(strength, random);
        for (const JitterKind kind : jitter.order) {
          constexpr Status (*adjust[])(ImageView, double) = {&adjust_brightness, &adjust_contrast,
                                                             &adjust_saturation};
          const auto k = static_cast<std::size_t>(kind);
          if (Status done = adjust[k](out, jitter.factor[k]); !done) return done;
        }
        return {};
      },
      true);
}

}  // namespace penstock
