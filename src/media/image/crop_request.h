// What a user asks for, turned into a CropResize once the picture's size is known.
//
// Thread safety: plain values and pure functions; one thread per planner.
#pragma once

#include <cstdint>
#include <optional>

#include "penstock/media.h"
#include "penstock/random.h"
#include "transform/crop.h"
#include "transform/random_crop.h"

namespace penstock::media {

// In this order: cut out `crop`, or a random one; resize, to `resize_short` on the short side or
// else to `size`; cut `size` out of the middle, if `centre`; mirror. What is absent is not done.
struct CropRequest {
  std::optional<Rect> crop;
  std::optional<ResizedCropRange> random;  // needs a size
  std::optional<Size> size;
  std::optional<std::int64_t> resize_short;
  bool centre = false;
  double flip = 0;  // the probability of being mirrored left to right: 1 is always
  Filter filter = Filter::bilinear;
  bool exact = true;
  double min_left = 1.5;

  // True if the answer is the whole picture as it is.
  bool whole() const { return !crop && !random && !size && !resize_short && flip == 0; }
};

// Error: the request asks for what cannot be, whatever the picture.
Status check(const CropRequest& request);

// Draws the flip, whatever its probability, and then the crop, so that neither changes the other.
// Sides and places are rounded as torchvision's Resize and CenterCrop do. Error: the request
// asks for what cannot be, such as a centre larger than the picture.
Result<CropResize> plan_crop(const CropRequest& request, std::int64_t width, std::int64_t height,
                             RandomStream& random);

class RequestPlanner final : public CropPlanner {
 public:
  // A request that leaves nothing to chance may do without random numbers.
  explicit RequestPlanner(const CropRequest& request,
                          const RandomStream& random = RandomStream(RandomKey(0, 0), 0))
      : request_(request), random_(random) {}
  Result<CropResize> plan(const ImageInfo& info) override {
    return plan_crop(request_, info.width, info.height, random_);
  }

 private:
  CropRequest request_;
  RandomStream random_;
};

}  // namespace penstock::media
