#include "media/image/crop_request.h"

#include <string>

#include "transform/resize_spec.h"

namespace penstock::media {
namespace {

Error bad(std::string message) {
  return Error(Code::invalid_argument, std::move(message));
}

}  // namespace

Status check(const CropRequest& request) {
  if (!(request.flip >= 0 && request.flip <= 1)) {
    return bad("flip must be a probability, 0 to 1, not " + std::to_string(request.flip));
  }
  if (!(request.min_left >= 1)) return bad("min_left must be at least 1");
  if (const auto side = request.resize_short; side && (*side <= 0 || *side > max_side)) {
    return bad("resize_short must be 1 to 2^24, not " + std::to_string(*side));
  }
  if (request.random) {
    if (!request.size) return bad("a random crop needs a size");
    if (request.crop || request.centre || request.resize_short) {
      return bad("a random crop goes with neither another crop nor resize_short");
    }
    return penstock::check(*request.random);
  }
  if (request.centre && !request.size) return bad("a centre crop needs a size");
  if (request.resize_short && request.size && !request.centre) {
    return bad("resize_short and size together need crop=\"center\"");
  }
  return {};
}

Result<CropResize> plan_crop(const CropRequest& request, std::int64_t width, std::int64_t height,
                             RandomStream& random) {
  if (Status s = check(request); !s) return std::move(s).error();
  CropResize plan;
  plan.filter = request.filter;
  plan.exact = request.exact;
  plan.min_left = request.min_left;
  plan.mirror = draw_flip(request.flip, random);
  plan.crop = request.crop.value_or(Rect{0, 0, width, height});
  if (request.random) plan.crop = draw_resized_crop(width, height, *request.random, random);
  const std::int64_t w = plan.crop.width, h = plan.crop.height;
  if (w <= 0 || h <= 0) return bad("the crop is empty");
  plan.out_width = w, plan.out_height = h;
  if (request.resize_short) {
    const Size size = with_short_side(w, h, *request.resize_short);
    plan.out_width = size.width, plan.out_height = size.height;
  } else if (request.size && !request.centre) {
    plan.out_width = request.size->width, plan.out_height = request.size->height;
  }
  if (!request.centre) return plan;
  const Size size = *request.size;
  Result<Rect> middle = centre(plan.out_width, plan.out_height, size.width, size.height);
  if (!middle) return bad(middle.error().message() + "; resize_short can enlarge it");
  plan.keep = *middle;
  return plan;
}

}  // namespace penstock::media
