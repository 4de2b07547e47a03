#include "transform/finish.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "transform/finish_kernels.h"

namespace penstock {
namespace {

Error bad(std::string message) {
  return Error(Code::invalid_argument, std::move(message));
}

double channel(std::span<const double> values, std::size_t c) {
  return values.size() == 1 ? values[0] : values[c];
}

}  // namespace

std::size_t FinishSpec::bytes() const {
  return static_cast<std::size_t>(height * width * channels) * size_of(type);
}

Status check(const FinishSpec& spec) {
  if (spec.height <= 0) return bad("height must be positive, got " + std::to_string(spec.height));
  if (spec.width <= 0) return bad("width must be positive, got " + std::to_string(spec.width));
  if (spec.channels < 1 || spec.channels > 4)
    return bad("channels must be 1 to 4, got " + std::to_string(spec.channels));
  if (spec.type != DType::uint8 && spec.type != DType::float32 && spec.type != DType::float16)
    return bad("type must be uint8, float32 or float16, got " + std::string(name_of(spec.type)));
  if (spec.height > INT64_MAX / 64 / spec.width)
    return Error(Code::out_of_range, "height x width is more than memory can hold");
  return {};
}

Status normalise(FinishSpec& spec, std::span<const double> mean, std::span<const double> std) {
  const auto channels = static_cast<std::size_t>(spec.channels);
  if (mean.size() != 1 && mean.size() != channels) {
    return bad("mean has " + std::to_string(mean.size()) + " values for " +
               std::to_string(channels) + " channels");
  }
  if (std.size() != 1 && std.size() != channels) {
    return bad("std has " + std::to_string(std.size()) + " values for " + std::to_string(channels) +
               " channels");
  }
  for (std::size_t c = 0; c < channels; ++c) {
    const double m = channel(mean, c), s = channel(std, c);
    if (!std::isfinite(m)) return bad("mean must be finite, got " + std::to_string(m));
    if (!std::isfinite(s) || s <= 0)
      return bad("std must be positive and finite, got " + std::to_string(s));
    spec.scale[c] = static_cast<float>(1.0 / (255.0 * s));
    spec.bias[c] = static_cast<float>(-m / s);
  }
  return {};
}

void finish_row(const FinishSpec& spec, const std::uint8_t* row, std::int64_t y, void* image) {
  if (!spec.mirror) return finish_pixels(spec, row, y, 0, spec.width, image);
  // Mirrored a piece at a time, in memory that stays in the first cache.
  constexpr std::int64_t piece = 512;
  std::uint8_t turned[piece * 4];
  for (std::int64_t x = 0; x < spec.width; x += piece) {
    const std::int64_t pixels = std::min(piece, spec.width - x);
    mirror_pixels(row + (spec.width - x - pixels) * spec.channels, pixels, spec.channels, turned);
    finish_pixels(spec, turned, y, x, pixels, image);
  }
}

bool FinishSink::in_place() const {
  return spec_.type == DType::uint8 && !spec_.mirror &&
         (spec_.layout == ImageLayout::hwc || spec_.channels == 1);
}

std::uint8_t* FinishSink::place(std::int64_t y) {
  if (!in_place()) return nullptr;
  return static_cast<std::uint8_t*>(image_) + y * spec_.width * spec_.channels;
}

void FinishSink::take(std::int64_t y, const std::uint8_t* row) {
  if (!in_place()) finish_row(spec_, row, y, image_);
}

}  // namespace penstock
