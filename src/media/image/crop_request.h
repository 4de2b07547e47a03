// What a user asks for, turned into a CropResize once the picture's size is known.
//
// Thread safety: plain values and pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "penstock/media.h"

namespace penstock::media {

struct Size {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// In this order: cut out `crop`; resize, to `resize_short` on the short side or else to `size`; cut
// `size` out of the middle, if `centre`. What is absent is not done.
struct CropRequest {
  std::optional<Rect> crop;
  std::optional<Size> size;
  std::optional<std::int64_t> resize_short;
  bool centre = false;
  Filter filter = Filter::bilinear;
  bool mirror = false;
  bool exact = true;
  double min_left = 1.5;

  // True if the answer is the whole picture as it is.
  bool whole() const { return !crop && !size && !resize_short && !mirror; }
};

// Sides and places are rounded as torchvision's Resize and CenterCrop do. Error: the request asks
// for what cannot be, such as a centre larger than the picture.
Result<CropResize> plan_crop(const CropRequest& request, std::int64_t width, std::int64_t height);

class RequestPlanner final : public CropPlanner {
 public:
  explicit RequestPlanner(const CropRequest& request) : request_(request) {}
  Result<CropResize> plan(const ImageInfo& info) override {
    return plan_crop(request_, info.width, info.height);
  }

 private:
  const CropRequest& request_;
};

}  // namespace penstock::media
