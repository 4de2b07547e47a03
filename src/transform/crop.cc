#include "transform/crop.h"

#include <cmath>
#include <cstring>
#include <string>

#include "transform/view_checks.h"

namespace penstock {
namespace {

template <class View>
Result<View> part(View source, Rect rect) {
  const bool inside = rect.x >= 0 && rect.y >= 0 && rect.width > 0 && rect.height > 0 &&
                      rect.x <= source.width && rect.y <= source.height &&
                      rect.width <= source.width - rect.x && rect.height <= source.height - rect.y;
  if (!inside) {
    return Error(Code::invalid_argument,
                 "rect (x " + std::to_string(rect.x) + ", y " + std::to_string(rect.y) + ", " +
                     size_text(rect.width, rect.height) + ") is not inside the image of " +
                     size_text(source.width, source.height));
  }
  source.data = source.row(rect.y) + rect.x * source.channels;
  source.width = rect.width;
  source.height = rect.height;
  return source;
}

}  // namespace

Size with_short_side(std::int64_t width, std::int64_t height, std::int64_t side) {
  const auto other = [side](std::int64_t longer, std::int64_t shorter) {
    return static_cast<std::int64_t>(static_cast<double>(side) * static_cast<double>(longer) /
                                     static_cast<double>(shorter));
  };
  return width <= height ? Size{other(height, width), side} : Size{side, other(width, height)};
}

Result<ConstImageView> crop(ConstImageView source, Rect rect) {
  return part(source, rect);
}
Result<ImageView> crop(ImageView source, Rect rect) {
  return part(source, rect);
}

Result<Rect> centre(std::int64_t src_width, std::int64_t src_height, std::int64_t width,
                    std::int64_t height) {
  if (width <= 0 || height <= 0 || width > src_width || height > src_height) {
    return Error(Code::invalid_argument, "a crop of " + size_text(width, height) +
                                             " does not fit the image of " +
                                             size_text(src_width, src_height));
  }
  // torchvision rounds half to even.
  const auto half = [](std::int64_t rest) {
    return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(rest) / 2.0));
  };
  return Rect{half(src_width - width), half(src_height - height), width, height};
}

Status copy_image(ConstImageView source, ImageView out) {
  if (Status same = check_same_shape(source, out); !same) return same;
  for (std::int64_t y = 0; y < source.height; ++y)
    std::memcpy(out.row(y), source.row(y), static_cast<std::size_t>(source.used_row_bytes()));
  return {};
}

}  // namespace penstock
