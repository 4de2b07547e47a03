#include "transform/orientation.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "transform/finish_kernels.h"
#include "transform/view_checks.h"

namespace penstock {
namespace {

// How the upright image is read off the stored one: which edges its rows and columns begin at, and
// whether its rows are stored columns.
struct Turn {
  bool from_right, from_bottom, exchange;
};

Turn turn_of(int orientation) {
  return {orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8,
          orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7,
          orientation >= 5};
}

// out(y, x) = source(x or its mirror, y or its mirror). Squares of this side keep both images'
// cache lines in use.
constexpr std::int64_t tile = 16;

template <int kBytes>
void transpose(const ConstImageView& source, const Turn& turn, const ImageView& out) {
  const std::ptrdiff_t down = turn.from_bottom ? -source.row_bytes : source.row_bytes;
  for (std::int64_t y0 = 0; y0 < out.height; y0 += tile) {
    for (std::int64_t x0 = 0; x0 < out.width; x0 += tile) {
      const std::int64_t y1 = std::min(y0 + tile, out.height);
      const std::int64_t x1 = std::min(x0 + tile, out.width);
      for (std::int64_t y = y0; y < y1; ++y) {
        const std::int64_t column = turn.from_right ? source.width - 1 - y : y;
        const std::int64_t line = turn.from_bottom ? source.height - 1 - x0 : x0;
        const std::uint8_t* from = source.row(line) + column * kBytes;
        std::uint8_t* to = out.row(y) + x0 * kBytes;
        for (std::int64_t x = x0; x < x1; ++x, from += down, to += kBytes)
          std::memcpy(to, from, kBytes);
      }
    }
  }
}

template <int kBytes>
void mirror_row(const std::uint8_t* from, std::int64_t pixels, std::uint8_t* to) {
  if constexpr (kBytes <= 4) {
    mirror_pixels(from, pixels, kBytes, to);
  } else {
    for (from += (pixels - 1) * kBytes; pixels > 0; --pixels, from -= kBytes, to += kBytes)
      std::memcpy(to, from, kBytes);
  }
}

template <int kBytes>
void lay_down(const ConstImageView& source, const Turn& turn, const ImageView& out) {
  if (turn.exchange) return transpose<kBytes>(source, turn, out);
  for (std::int64_t y = 0; y < out.height; ++y) {
    const std::uint8_t* from = source.row(turn.from_bottom ? source.height - 1 - y : y);
    if (turn.from_right) {
      mirror_row<kBytes>(from, source.width, out.row(y));
    } else {
      std::memcpy(out.row(y), from, static_cast<std::size_t>(source.used_row_bytes()));
    }
  }
}

}  // namespace

void orient_pixels(const ConstImageView& source, int orientation, const ImageView& out) noexcept {
  const Turn turn = turn_of(orientation);
  switch (source.channels) {
    case 1:
      return lay_down<1>(source, turn, out);
    case 2:
      return lay_down<2>(source, turn, out);
    case 3:
      return lay_down<3>(source, turn, out);
    case 4:
      return lay_down<4>(source, turn, out);
    case 6:
      return lay_down<6>(source, turn, out);
    case 8:
      return lay_down<8>(source, turn, out);
    default:
      return;
  }
}

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
  orient_pixels(source, orientation, out);
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

Rect stored_rect(Rect upright, std::int64_t stored_width, std::int64_t stored_height,
                 int orientation) noexcept {
  const Turn turn = turn_of(orientation);
  Rect rect = upright;
  if (turn.exchange) {
    std::swap(rect.x, rect.y);
    std::swap(rect.width, rect.height);
  }
  if (turn.from_right) rect.x = stored_width - rect.x - rect.width;
  if (turn.from_bottom) rect.y = stored_height - rect.y - rect.height;
  return rect;
}

}  // namespace penstock
