#include "media/image/shared_crop.h"

#include <string>

#include "media/image/crop_plan.h"

namespace penstock::media {

ShownBox shown_by(const CropResize& plan) {
  const double across = double(plan.crop.width) / double(plan.out_width);
  const double down = double(plan.crop.height) / double(plan.out_height);
  const Box keep = plan.keep.box();
  return {{double(plan.crop.x) + keep.left * across, double(plan.crop.y) + keep.top * down,
           double(plan.crop.x) + keep.right * across, double(plan.crop.y) + keep.bottom * down},
          plan.mirror};
}

Result<CropResize> SharedPlanner::plan(const ImageInfo& info) {
  if (!plan_) {
    Result<CropResize> planned = first_.plan(info);
    if (!planned) return planned;
    Result<CropResize> full = complete(*planned, info.width, info.height);
    if (!full) return full;
    plan_ = *full;
    width_ = info.width, height_ = info.height;
  } else if (info.width != width_ || info.height != height_) {
    const auto text = [](std::int64_t w, std::int64_t h) {
      return std::to_string(w) + " x " + std::to_string(h);
    };
    return Error(Code::invalid_argument,
                 "it is " + text(info.width, info.height) + " pixels and the first field is " +
                     text(width_, height_) + "; fields that share a crop must have one size");
  }
  CropResize plan = *plan_;
  plan.filter = filter_.value_or(plan.filter);
  return plan;
}

Error in_field(std::string_view name, const Error& error) {
  return Error(error.code(), "field " + std::string(name) + ": " + error.message());
}

}  // namespace penstock::media
