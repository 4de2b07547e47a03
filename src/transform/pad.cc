#include "transform/pad.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>

#include "transform/view_checks.h"

namespace penstock {
namespace {

Status check_sides(const ConstImageView& source, const PadSpec& spec) {
  const std::int64_t limit = std::int64_t{1} << 32;
  for (const auto& [name, side, size] : {std::tuple{"left", spec.left, source.width},
                                         {"right", spec.right, source.width},
                                         {"top", spec.top, source.height},
                                         {"bottom", spec.bottom, source.height}}) {
    if (side < 0 || side > limit) {
      return Error(Code::invalid_argument,
                   std::string(name) + " must be 0 to 2^32, got " + std::to_string(side));
    }
    if (spec.mode == PadMode::reflect && side >= size) {
      return Error(Code::invalid_argument, std::string(name) + " is " + std::to_string(side) +
                                               ", reflecting needs it smaller than the image's " +
                                               std::to_string(size));
    }
  }
  return {};
}

// Where the padded coordinate comes from.
std::int64_t origin(std::int64_t at, std::int64_t size, PadMode mode) {
  if (mode == PadMode::edge) return std::clamp<std::int64_t>(at, 0, size - 1);
  if (at < 0) return -at;
  if (at >= size) return 2 * (size - 1) - at;
  return at;
}

void fill_pixels(const PadSpec& spec, int channels, std::int64_t pixels, std::uint8_t* to) {
  for (std::int64_t x = 0; x < pixels; ++x)
    for (int c = 0; c < channels; ++c) *to++ = spec.fill[static_cast<std::size_t>(c)];
}

void pad_row(const std::uint8_t* from, const ConstImageView& source, const PadSpec& spec,
             std::uint8_t* to) {
  const auto channels = static_cast<std::size_t>(source.channels);
  const auto side = [&](std::int64_t begin, std::int64_t end, std::uint8_t* at) {
    if (spec.mode == PadMode::constant) return fill_pixels(spec, source.channels, end - begin, at);
    for (std::int64_t x = begin; x < end; ++x, at += channels)
      std::memcpy(at, from + origin(x, source.width, spec.mode) * source.channels, channels);
  };
  side(-spec.left, 0, to);
  to += spec.left * source.channels;
  std::memcpy(to, from, static_cast<std::size_t>(source.used_row_bytes()));
  side(source.width, source.width + spec.right, to + source.used_row_bytes());
}

}  // namespace

Status pad(ConstImageView source, const PadSpec& spec, ImageView out) {
  if (Status view = check_view("source", source); !view) return view;
  if (Status sides = check_sides(source, spec); !sides) return sides;
  if (Status shape = check_out(out, spec.left + source.width + spec.right,
                               spec.top + source.height + spec.bottom, source.channels);
      !shape) {
    return shape;
  }
  for (std::int64_t y = 0; y < out.height; ++y) {
    const std::int64_t line = y - spec.top;
    const bool outside = line < 0 || line >= source.height;
    if (outside && spec.mode == PadMode::constant) {
      fill_pixels(spec, out.channels, out.width, out.row(y));
    } else {
      pad_row(source.row(outside ? origin(line, source.height, spec.mode) : line), source, spec,
              out.row(y));
    }
  }
  return {};
}

}  // namespace penstock
