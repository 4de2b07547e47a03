#include "media/image/crop_plan.h"

#include <algorithm>
#include <cmath>

#include "media/image/jpeg_reader.h"
#include "media/image/region.h"

namespace penstock::media {

int decode_scale(std::int64_t width, std::int64_t height, std::int64_t out_width,
                 std::int64_t out_height, double min_left) noexcept {
  for (const int scale : {8, 4, 2}) {
    const double needed = scale * min_left;
    if (double(width) >= needed * double(out_width) &&
        double(height) >= needed * double(out_height)) {
      return scale;
    }
  }
  return 1;
}

ScaledCrop scale_crop(const CropResize& plan, std::int64_t width, std::int64_t height,
                      PixelScale scale, int channels) noexcept {
  const Rect& crop = plan.crop;
  const std::int64_t left = crop.x / scale.x, top = crop.y / scale.y;
  const std::int64_t right =
      std::min(scaled_size(width, scale.x), scaled_size(crop.x + crop.width, scale.x));
  const std::int64_t bottom =
      std::min(scaled_size(height, scale.y), scaled_size(crop.y + crop.height, scale.y));
  ScaledCrop result;
  result.region = {left, top, right - left, bottom - top};
  ResizeSpec& spec = result.spec;
  spec.src_width = result.region.width;
  spec.src_height = result.region.height;
  spec.channels = channels;
  const auto inside = [](std::int64_t at, int scale, std::int64_t start) {
    return double(at) / scale - double(start);
  };
  spec.box = {inside(crop.x, scale.x, left), inside(crop.y, scale.y, top),
              inside(crop.x + crop.width, scale.x, left),
              inside(crop.y + crop.height, scale.y, top)};
  spec.out_width = plan.out_width;
  spec.out_height = plan.out_height;
  spec.filter = plan.filter;
  spec.keep = plan.keep;
  spec.mirror = plan.mirror;
  return result;
}

Result<CropResize> complete(const CropResize& plan, std::int64_t width, std::int64_t height) {
  CropResize full = plan;
  if (full.crop.width == 0 && full.crop.height == 0) full.crop = {0, 0, width, height};
  if (Status s = check_region(full.crop, width, height); !s) return std::move(s).error();
  if (full.out_width <= 0 || full.out_height <= 0) {
    return Error(Code::invalid_argument, "the size to resize to must be positive, not " +
                                             std::to_string(full.out_width) + " x " +
                                             std::to_string(full.out_height));
  }
  if (full.keep.width == 0 && full.keep.height == 0) {
    full.keep = {0, 0, full.out_width, full.out_height};
  }
  if (Status s = check_region(full.keep, full.out_width, full.out_height); !s) {
    return std::move(s).error();
  }
  if (!(full.min_left >= 1)) {
    return Error(Code::invalid_argument, "min_left must be at least 1");
  }
  return full;
}

}  // namespace penstock::media
