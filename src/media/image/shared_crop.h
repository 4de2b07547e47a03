// One crop and one flip for several pictures of the same scene, such as an image and its mask.
//
// Thread safety: one thread per planner.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "penstock/media.h"

namespace penstock::media {

// The part of the (upright) picture that a result shows. After a resize to a short side its edges
// may lie between pixels.
struct ShownBox {
  Box box;
  bool mirrored = false;
};

ShownBox shown_by(const CropResize& plan);

// Plans for the first picture and gives the others the same crop, each with its own filter: masks
// want nearest. Decode them one after the other with it.
class SharedPlanner final : public CropPlanner {
 public:
  explicit SharedPlanner(CropPlanner& first) : first_(first) {}

  // For the pictures from now on; none: the one of the first plan.
  void use(std::optional<Filter> filter) { filter_ = filter; }
  // Error: a later picture is not of the first one's size.
  Result<CropResize> plan(const ImageInfo& info) override;
  // What the first plan shows; there must have been one.
  ShownBox shown() const { return shown_by(*plan_); }

 private:
  CropPlanner& first_;
  std::optional<Filter> filter_;
  std::optional<CropResize> plan_;
  std::int64_t width_ = 0;
  std::int64_t height_ = 0;
};

// The same error, beginning with the field's name.
Error in_field(std::string_view name, const Error& error);

}  // namespace penstock::media
