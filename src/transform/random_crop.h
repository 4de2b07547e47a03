// What random transforms draw, as pure functions of a stream of random numbers.
//
// The draws and their order are part of the format: a plan's output depends on them. Sizes are
// drawn as torchvision draws them (RandomResizedCrop.get_params, ColorJitter), from our own
// numbers.
//
// Thread safety: the caller's stream is used by one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>

#include "penstock/error.h"
#include "penstock/image.h"

namespace penstock {

template <class T>
concept UniformSource = requires(T& source) {
  { source.uniform(0.0, 1.0) } -> std::convertible_to<double>;
  { source.below(std::uint64_t{2}) } -> std::convertible_to<std::uint64_t>;
  { source.bernoulli(0.5) } -> std::convertible_to<bool>;
};

struct ResizedCropRange {
  double min_area = 0.08;  // of the image's area
  double max_area = 1.0;
  double min_ratio = 3.0 / 4.0;  // width / height
  double max_ratio = 4.0 / 3.0;
};

// Error: invalid_argument, naming the value.
inline Status check(const ResizedCropRange& range) {
  const auto good = [](double low, double high) {
    return std::isfinite(low) && std::isfinite(high) && low > 0 && low <= high;
  };
  if (!good(range.min_area, range.max_area)) {
    return Error(Code::invalid_argument, "area must be a range of positive numbers, got " +
                                             std::to_string(range.min_area) + " to " +
                                             std::to_string(range.max_area));
  }
  if (!good(range.min_ratio, range.max_ratio)) {
    return Error(Code::invalid_argument, "ratio must be a range of positive numbers, got " +
                                             std::to_string(range.min_ratio) + " to " +
                                             std::to_string(range.max_ratio));
  }
  return {};
}

// The largest crop in the middle whose shape is in the range.
inline Rect central_crop(std::int64_t width, std::int64_t height, const ResizedCropRange& range) {
  const double shape = static_cast<double>(width) / static_cast<double>(height);
  Rect crop{0, 0, width, height};
  if (shape < range.min_ratio) {
    crop.height = std::llrint(static_cast<double>(width) / range.min_ratio);
  } else if (shape > range.max_ratio) {
    crop.width = std::llrint(static_cast<double>(height) * range.max_ratio);
  }
  crop.width = std::clamp<std::int64_t>(crop.width, 1, width);
  crop.height = std::clamp<std::int64_t>(crop.height, 1, height);
  crop.x = (width - crop.width) / 2;
  crop.y = (height - crop.height) / 2;
  return crop;
}

// A crop of random area, shape and place: ten tries, each drawing the area, then the logarithm of
// the ratio; the first that fits draws its row, then its column. After ten the central crop.
template <UniformSource Source>
Rect draw_resized_crop(std::int64_t width, std::int64_t height, const ResizedCropRange& range,
                       Source& source) {
  const double area = static_cast<double>(width) * static_cast<double>(height);
  const double low = std::log(range.min_ratio), high = std::log(range.max_ratio);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * source.uniform(range.min_area, range.max_area);
    const double ratio = std::exp(source.uniform(low, high));
    const auto w = static_cast<std::int64_t>(std::llrint(std::sqrt(target * ratio)));
    const auto h = static_cast<std::int64_t>(std::llrint(std::sqrt(target / ratio)));
    if (w <= 0 || w > width || h <= 0 || h > height) continue;
    const auto y =
        static_cast<std::int64_t>(source.below(static_cast<std::uint64_t>(height - h + 1)));
    const auto x =
        static_cast<std::int64_t>(source.below(static_cast<std::uint64_t>(width - w + 1)));
    return {x, y, w, h};
  }
  return central_crop(width, height, range);
}

// A crop of a given size at a random place: row, then column. The size must fit.
template <UniformSource Source>
Rect draw_crop(std::int64_t width, std::int64_t height, std::int64_t crop_width,
               std::int64_t crop_height, Source& source) {
  const auto y = source.below(static_cast<std::uint64_t>(height - crop_height + 1));
  const auto x = source.below(static_cast<std::uint64_t>(width - crop_width + 1));
  return {static_cast<std::int64_t>(x), static_cast<std::int64_t>(y), crop_width, crop_height};
}

template <UniformSource Source>
bool draw_flip(double probability, Source& source) {
  return source.bernoulli(probability);
}

enum class JitterKind : std::uint8_t { brightness, contrast, saturation };

// A factor per kind of jitter, and the order to apply them in.
struct Jitter {
  std::array<double, 3> factor = {1, 1, 1};  // by JitterKind
  std::array<JitterKind, 3> order = {JitterKind::brightness, JitterKind::contrast,
                                     JitterKind::saturation};
};

// `strength` s per kind gives a factor uniform in [max(0, 1 - s), 1 + s]. The order is drawn first,
// then the factors by kind; every draw is made whatever the strengths, so that changing one of them
// does not change the others.
template <UniformSource Source>
Jitter draw_jitter(const std::array<double, 3>& strength, Source& source) {
  Jitter jitter;
  for (std::size_t i = 2; i > 0; --i) std::swap(jitter.order[i], jitter.order[source.below(i + 1)]);
  for (std::size_t kind = 0; kind < 3; ++kind)
    jitter.factor[kind] = source.uniform(std::max(0.0, 1.0 - strength[kind]), 1.0 + strength[kind]);
  return jitter;
}

}  // namespace penstock
