// From decoded pictures to pixels as they were asked for: cut, resized, turned, in their final
// layout and type, straight into their place.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "media/image/crop_request.h"
#include "media/video/reader.h"
#include "penstock/media.h"
#include "penstock/random.h"
#include "transform/finish.h"

namespace penstock::media {

struct PaintRequest {
  CropRequest crop;  // one crop and one flip for all pictures
  PixelMode mode = PixelMode::rgb;
  int orientation = 1;  // as EXIF numbers it
  // Layout, type and scale of the result. Size and channels follow from the rest.
  FinishSpec finish;
};

// Gives memory for pictures once their size is known; called once.
using PlaceFrames = std::function<Result<std::byte*>(const FinishSpec& finish)>;

class Painter final : public FrameSink {
 public:
  // Picture `which` goes to the memory of `place`, which * finish.bytes() bytes into it.
  Painter(const PaintRequest& request, const RandomStream& random, PlaceFrames place)
      : request_(request), random_(random), place_(std::move(place)) {}

  // Plans with the first picture, and asks for the place; of others that have another size it is
  // asked that what is made of them has the same.
  Status begin(const av::Picture& picture);
  Status take(std::size_t which, const av::Picture& picture, av::Input& input) override;

 private:
  Status paint(const av::Picture& picture, av::Input& input, std::byte* out);

  PaintRequest request_;
  RandomStream random_;
  PlaceFrames place_;
  std::optional<CropResize> plan_;
  std::int64_t width_ = 0, height_ = 0;  // of the picture planned for, as stored
  std::byte* memory_ = nullptr;
};

}  // namespace penstock::media
