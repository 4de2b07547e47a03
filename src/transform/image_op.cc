#include "transform/image_op.h"

#include <cmath>
#include <utility>

#include "transform/enhance.h"
#include "transform/orientation.h"
#include "transform/pixels_op.h"
#include "transform/resample.h"
#include "transform/resize_spec.h"
#include "transform/view_checks.h"

namespace penstock {
namespace {

Error bad(std::string message) {
  return Error(Code::invalid_argument, std::move(message));
}

Box whole(const ConstImageView& image) {
  return {0, 0, double(image.width), double(image.height)};
}

// What changes an image where it is, applied to a copy.
template <class Change>
ImageOp copying_op(std::string name, Change change) {
  return pixels_op(
      std::move(name), same_size,
      [change](const ConstImageView& image, RandomStream&, const ImageView& out) -> Status {
        if (Status copied = copy_image(image, out); !copied) return copied;
        return change(out);
      });
}

using Adjust = Status (*)(ImageView, double);

Result<ImageOp> adjust_op(std::string name, Adjust adjust, double factor) {
  if (!std::isfinite(static_cast<float>(factor)))
    return bad("factor must be finite, got " + std::to_string(factor));
  return copying_op(std::move(name),
                    [adjust, factor](const ImageView& out) { return adjust(out, factor); });
}

Result<Colour> colour_of(int channels, std::optional<Colour> given) {
  constexpr Colour usual[] = {Colour::l, Colour::la, Colour::rgb, Colour::rgba};
  const Colour colour = given.value_or(usual[channels - 1]);
  if (channels_of(colour) == channels) return colour;
  return bad("the image has " + std::to_string(channels) + " channels, the conversion takes " +
             std::to_string(channels_of(colour)));
}

}  // namespace

ImageOp pixels_op(std::string name, PixelSizeRule size, PixelWork work, bool random) {
  ImageOp op;
  op.name = std::move(name);
  op.random = random;
  op.result = [size](const ConstImageView& image) -> Result<ImageOp::Result> {
    if (Status view = check_view("the image", image); !view) return std::move(view).error();
    const Result<PixelSize> made = size(image);
    if (!made) return made.error();
    const auto& [height, width, channels] = *made;
    return ImageOp::Result{DType::uint8,
                           channels == 1 ? Dims{height, width} : Dims{height, width, channels}};
  };
  op.apply = [size, work = std::move(work)](const ConstImageView& image, RandomStream& numbers,
                                            void* out) -> Status {
    if (Status view = check_view("the image", image); !view) return view;
    const Result<PixelSize> made = size(image);
    if (!made) return made.error();
    const auto& [height, width, channels] = *made;
    return work(image, numbers,
                {static_cast<std::uint8_t*>(out), height, width, channels,
                 std::ptrdiff_t(width * channels)});
  };
  return op;
}

Status check_size(const Size& size) {
  if (size.height > 0 && size.width > 0) return {};
  return bad("size must be positive, got " + std::to_string(size.height) + " x " +
             std::to_string(size.width));
}

Status resize_box(const ConstImageView& image, const Box& box, const ImageView& out,
                  Filter filter) {
  const bool alpha = image.channels == 2 || image.channels == 4;
  return alpha ? resize_premultiplied(image, box, out, filter) : resize(image, box, out, filter);
}

Result<ImageOp> resize_op(Size size, Filter filter, std::optional<Box> box) {
  if (Status fine = check_size(size); !fine) return std::move(fine).error();
  return pixels_op(
      "resize",
      [size](const ConstImageView& image) -> Result<PixelSize> {
        return PixelSize{size.height, size.width, image.channels};
      },
      [filter, box](const ConstImageView& image, RandomStream&, const ImageView& out) {
        return resize_box(image, box.value_or(whole(image)), out, filter);
      });
}

Result<ImageOp> resize_short_op(std::int64_t side, Filter filter) {
  if (side <= 0 || side > max_side)
    return bad("size must be 1 to 2^24, got " + std::to_string(side));
  return pixels_op(
      "resize",
      [side](const ConstImageView& image) -> Result<PixelSize> {
        const Size size = with_short_side(image.width, image.height, side);
        return PixelSize{size.height, size.width, image.channels};
      },
      [filter](const ConstImageView& image, RandomStream&, const ImageView& out) {
        return resize_box(image, whole(image), out, filter);
      });
}

Result<ImageOp> crop_op(Rect rect) {
  if (rect.width <= 0 || rect.height <= 0 || rect.x < 0 || rect.y < 0)
    return bad("box must have left < right and top < bottom, none of them negative");
  return pixels_op(
      "crop",
      [rect](const ConstImageView& image) -> Result<PixelSize> {
        const auto part = crop(image, rect);
        if (!part) return part.error();
        return PixelSize{rect.height, rect.width, image.channels};
      },
      [rect](const ConstImageView& image, RandomStream&, const ImageView& out) -> Status {
        const auto part = crop(image, rect);
        return part ? copy_image(*part, out) : Status(part.error());
      });
}

Result<ImageOp> center_crop_op(Size size) {
  if (Status fine = check_size(size); !fine) return std::move(fine).error();
  const auto middle = [size](const ConstImageView& image) {
    return centre(image.width, image.height, size.width, size.height);
  };
  return pixels_op(
      "center_crop",
      [middle](const ConstImageView& image) -> Result<PixelSize> {
        const auto rect = middle(image);
        if (!rect) return rect.error();
        return PixelSize{rect->height, rect->width, image.channels};
      },
      [middle](const ConstImageView& image, RandomStream&, const ImageView& out) -> Status {
        const auto rect = middle(image);
        if (!rect) return rect.error();
        const auto part = crop(image, *rect);
        return part ? copy_image(*part, out) : Status(part.error());
      });
}

Result<ImageOp> pad_op(const PadSpec& spec) {
  for (const std::int64_t side : {spec.left, spec.top, spec.right, spec.bottom}) {
    if (side < 0 || side > std::int64_t{1} << 32)
      return bad("padding must be 0 to 2^32, got " + std::to_string(side));
  }
  return pixels_op(
      "pad",
      [spec](const ConstImageView& image) -> Result<PixelSize> {
        return PixelSize{spec.top + image.height + spec.bottom,
                         spec.left + image.width + spec.right, image.channels};
      },
      [spec](const ConstImageView& image, RandomStream&, const ImageView& out) {
        return pad(image, spec, out);
      });
}

ImageOp flip_op(bool vertical) {
  return pixels_op("flip", same_size,
                   [vertical](const ConstImageView& image, RandomStream&, const ImageView& out) {
                     return vertical ? flip_vertical(image, out) : flip_horizontal(image, out);
                   });
}

ImageOp rotate90_op(int turns) {
  const bool odd = turns % 2 != 0;
  return pixels_op(
      "rotate90",
      [odd](const ConstImageView& image) -> Result<PixelSize> {
        return odd ? PixelSize{image.width, image.height, image.channels}
                   : PixelSize{image.height, image.width, image.channels};
      },
      [turns](const ConstImageView& image, RandomStream&, const ImageView& out) {
        return rotate90(image, turns, out);
      });
}

Result<ImageOp> convert_op(Colour to, std::optional<Colour> from) {
  if (to == Colour::cmyk) return bad("nothing can be converted to CMYK");
  return pixels_op(
      "convert",
      [to, from](const ConstImageView& image) -> Result<PixelSize> {
        const auto colour = colour_of(image.channels, from);
        if (!colour) return colour.error();
        return PixelSize{image.height, image.width, channels_of(to)};
      },
      [to, from](const ConstImageView& image, RandomStream&, const ImageView& out) -> Status {
        const auto colour = colour_of(image.channels, from);
        return colour ? convert_colour(image, *colour, to, out) : Status(colour.error());
      });
}

ImageOp grayscale_op() {
  return copying_op("grayscale", [](const ImageView& out) { return grayscale(out); });
}

Result<ImageOp> brightness_op(double factor) {
  return adjust_op("brightness", &adjust_brightness, factor);
}
Result<ImageOp> contrast_op(double factor) {
  return adjust_op("contrast", &adjust_contrast, factor);
}
Result<ImageOp> saturation_op(double factor) {
  return adjust_op("saturation", &adjust_saturation, factor);
}

Result<ImageOp> normalize_op(DType type, ImageLayout layout, std::vector<double> mean,
                             std::vector<double> std) {
  const auto finish_of = [type, layout, mean = std::move(mean),
                          std = std::move(std)](const ConstImageView& image) -> Result<FinishSpec> {
    FinishSpec spec;
    spec.height = image.height, spec.width = image.width, spec.channels = image.channels;
    spec.type = type, spec.layout = layout;
    if (Status fine = check(spec); !fine) return std::move(fine).error();
    if (mean.empty() && std.empty()) return spec;
    if (Status fine = normalise(spec, mean, std); !fine) return std::move(fine).error();
    return spec;
  };
  // What fits no image is refused now.
  for (const int channels : {1, 2, 3, 4}) {
    const auto spec = finish_of({nullptr, 1, 1, channels, 0});
    if (spec) break;
    if (channels == 4) return spec.error();
  }
  ImageOp op;
  op.name = "normalize";
  op.result = [finish_of](const ConstImageView& image) -> Result<ImageOp::Result> {
    if (Status view = check_view("the image", image); !view) return std::move(view).error();
    const auto spec = finish_of(image);
    if (!spec) return spec.error();
    const std::int64_t h = spec->height, w = spec->width, c = spec->channels;
    return ImageOp::Result{spec->type,
                           spec->layout == ImageLayout::hwc ? Dims{h, w, c} : Dims{c, h, w}};
  };
  op.apply = [finish_of](const ConstImageView& image, RandomStream&, void* out) -> Status {
    if (Status view = check_view("the image", image); !view) return view;
    const auto spec = finish_of(image);
    if (!spec) return spec.error();
    for (std::int64_t y = 0; y < image.height; ++y) finish_row(*spec, image.row(y), y, out);
    return {};
  };
  return op;
}

}  // namespace penstock
