#include "media/image/crop_request.h"

#include <cmath>
#include <string>

namespace penstock::media {
namespace {

Error bad(std::string message) {
  return Error(Code::invalid_argument, std::move(message));
}

}  // namespace

Result<CropResize> plan_crop(const CropRequest& request, std::int64_t width, std::int64_t height) {
  CropResize plan;
  plan.filter = request.filter;
  plan.mirror = request.mirror;
  plan.exact = request.exact;
  plan.min_left = request.min_left;
  plan.crop = request.crop.value_or(Rect{0, 0, width, height});
  const std::int64_t w = plan.crop.width, h = plan.crop.height;
  if (w <= 0 || h <= 0) return bad("the crop is empty");
  plan.out_width = w, plan.out_height = h;
  if (request.resize_short) {
    const std::int64_t side = *request.resize_short;
    if (side <= 0) return bad("resize_short must be positive, not " + std::to_string(side));
    const auto other = [side](std::int64_t longer, std::int64_t shorter) {
      return std::int64_t(double(side) * double(longer) / double(shorter));
    };
    plan.out_width = w <= h ? side : other(w, h);
    plan.out_height = w <= h ? other(h, w) : side;
  } else if (request.size && !request.centre) {
    plan.out_width = request.size->width, plan.out_height = request.size->height;
  }
  if (!request.centre) {
    if (request.resize_short && request.size) {
      return bad("resize_short and size together need crop=\"center\"");
    }
    return plan;
  }
  if (!request.size) return bad("a centre crop needs a size");
  const Size size = *request.size;
  if (size.width > plan.out_width || size.height > plan.out_height) {
    return bad("the centre of " + std::to_string(size.height) + " x " + std::to_string(size.width) +
               " does not fit a picture of " + std::to_string(plan.out_height) + " x " +
               std::to_string(plan.out_width) + "; resize_short can enlarge it");
  }
  // Python's round: halves to even.
  plan.keep = {std::llrint(double(plan.out_width - size.width) / 2),
               std::llrint(double(plan.out_height - size.height) / 2), size.width, size.height};
  return plan;
}

}  // namespace penstock::media
