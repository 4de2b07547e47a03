// What Python wants of an image, said once and used for many.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "media/image/crop_request.h"
#include "penstock/media.h"
#include "penstock/random.h"

namespace penstock::bindings {

using BoxTuple = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
using SizeTuple = std::tuple<std::int64_t, std::int64_t>;

extern const std::map<std::string_view, PixelMode> kModes;
extern const std::map<std::string_view, Filter> kFilters;

// From (left, top, right, bottom).
Rect rect_of(const BoxTuple& box);

struct ImageRequest {
  DecodeOptions options;
  media::CropRequest crop;
  RandomKey key{0, 0};

  // True if the result depends on the position.
  bool random() const { return crop.random || (crop.flip > 0 && crop.flip < 1); }
  // Raises if the request is random and there is no position.
  RandomStream stream(std::optional<std::uint64_t> position) const;
};

// The numbers of an item at a position; raises if there is none and `needed`.
RandomStream stream_at(const RandomKey& key, std::optional<std::uint64_t> position,
                       std::uint32_t operation, bool needed);

void bind_image_request(nanobind::module_& m);

}  // namespace penstock::bindings
