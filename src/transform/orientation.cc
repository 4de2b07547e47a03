#include "transform/orientation.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "transform/finish_kernels.h"
#include "transform/view_checks.h"

namespace penstock {
namespace {

// out(y, x) = source(x or its mirror, y or its mirror). Squares of this side keep both images'
// cache lines in use.
constexpr std::int64_t tile = 16;

template <int kChannels>
void transpose(const ConstImageView& source, bool from_bottom, bool from_right,
               const ImageView& out) {
  const std::ptrdiff_t down = from_bottom ? -source.row_bytes : source.row_bytes;
  for (std::int64_t y0 = 0; y0 < out.height; y0 += tile) {
    for (std::int64_t x0 = 0; x0 < out.width; x0 += tile) {
      const std::int64_t y1 = std::min(y0 + tile, out.height);
      const std::int64_t x1 = std::min(x0 + tile, out.width);
      for (std::int64_t y = y0; y < y1; ++y) {
        const std::int64_t column = from_right ? source.width - 1 - y : y;
        const std::int64_t line = from_bottom ? source.height - 1 - x0 : x0;
        const std::uint8_t* from = source.row(line) + column * kChannels;
        std::uint8_t* to = out.row(y) + x0 * kChannels;
        for (std::int64_t x = x0; x < x1; ++x, from += down, to += kChannels)
          std::memcpy(to, from, kChannels);
      }
    }
  }
}

void transpose(const ConstImageView& source, bool from_bottom, bool from_right,
               const ImageView& out) {
  switch (source.channels) {
    case 1:
      return transpose<1>(source, from_bottom, from_right, out);
    case 2:
      return transpose<2>(source, from_bottom, from_right, out);
    case 3:
      return transpose<3>(source, from_bottom, from_right, out);
    default:
      return transpose<4>(source, from_bottom, from_right, out);
  }
}

void mirror(const ConstImageView& source, bool from_bottom, bool from_right, const ImageView& out) {
  for (std::int64_t y = 0; y < out.height; ++y) {
    const std::uint8_t* from = source.row(from_bottom ? source.height - 1 - y : y);
    if (from_right) {
      mirror_pixels(from, source.width, source.channels, out.row(y));
    } else {
      std::memcpy(out.row(y), from, static_cast<std::size_t>(source.used_row_bytes()));
    }
  }
}

}  // namespace

Status orient(ConstImageView source, int orientation, ImageView out) {
  if (orientation < 1 || orientation > 8) {
    return Error(Code::invalid_argument,
                 "orientation must be 1 to 8, got " + std::to_string(orientation));
  }
  if (Status view = check_view("source", source); !view) return view;
  const bool turned = orientation >= 5;
  if (Status shape = check_out(out, turned ? source.height : source.width,
                               turned ? source.width : source.height, source.channels);
      !shape) {
    return shape;
  }
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  if (turned) {
    transpose(source, from_bottom, from_right, out);
  } else {
    mirror(source, from_bottom, from_right, out);
  }
  return {};
}

Status flip_horizontal(ConstImageView source, ImageView out) {
  return orient(source, 2, out);
}

Status flip_vertical(ConstImageView source, ImageView out) {
  return orient(source, 4, out);
}

Status rotate90(ConstImageView source, int turns, ImageView out) {
  constexpr int orientation_of[4] = {1, 8, 3, 6};
  return orient(source, orientation_of[(turns % 4 + 4) % 4], out);
}

}  // namespace penstock
