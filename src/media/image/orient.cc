#include "media/image/orient.h"

#include <algorithm>
#include <cstring>

namespace penstock::media {
namespace {

// How an orientation is undone: exchange the axes last, mirror in stored coordinates first.
struct Turn {
  bool mirror_x, mirror_y, exchange;
};

Turn turn_of(int orientation) {
  switch (orientation) {
    case 2:
      return {true, false, false};
    case 3:
      return {true, true, false};
    case 4:
      return {false, true, false};
    case 5:
      return {false, false, true};
    case 6:
      return {false, true, true};
    case 7:
      return {true, true, true};
    case 8:
      return {true, false, true};
    default:
      return {false, false, false};
  }
}

template <int Bytes>
void copy_pixel(std::uint8_t* to, const std::uint8_t* from) {
  std::memcpy(to, from, Bytes);
}

// Walks the upright picture in tiles, so that a transposed read stays in cache.
template <int Bytes>
void copy(const std::uint8_t* from, std::int64_t row, const ImageShape& stored, const Turn& turn,
          PixelMemory to) {
  constexpr std::int64_t kTile = 32;
  const std::int64_t width = turn.exchange ? stored.height : stored.width;
  const std::int64_t height = turn.exchange ? stored.width : stored.height;
  std::int64_t step_x = turn.mirror_x ? -Bytes : Bytes, step_y = turn.mirror_y ? -row : row;
  const std::uint8_t* const origin = from + (turn.mirror_x ? (stored.width - 1) * Bytes : 0) +
                                     (turn.mirror_y ? (stored.height - 1) * row : 0);
  if (turn.exchange) std::swap(step_x, step_y);
  for (std::int64_t top = 0; top < height; top += kTile) {
    for (std::int64_t left = 0; left < width; left += kTile) {
      for (std::int64_t y = top; y < std::min(height, top + kTile); ++y) {
        std::uint8_t* out = to.data + y * to.row_bytes + left * Bytes;
        const std::uint8_t* in = origin + y * step_y + left * step_x;
        for (std::int64_t x = left; x < std::min(width, left + kTile); ++x) {
          copy_pixel<Bytes>(out, in);
          out += Bytes;
          in += step_x;
        }
      }
    }
  }
}

}  // namespace

void orient(const std::uint8_t* from, std::int64_t row_bytes, const ImageShape& stored,
            int orientation, PixelMemory to) noexcept {
  const Turn turn = turn_of(orientation);
  switch (stored.channels * stored.bits / 8) {
    case 1:
      return copy<1>(from, row_bytes, stored, turn, to);
    case 2:
      return copy<2>(from, row_bytes, stored, turn, to);
    case 3:
      return copy<3>(from, row_bytes, stored, turn, to);
    case 4:
      return copy<4>(from, row_bytes, stored, turn, to);
    case 6:
      return copy<6>(from, row_bytes, stored, turn, to);
    case 8:
      return copy<8>(from, row_bytes, stored, turn, to);
    default:
      return;
  }
}

Rect stored_rect(Rect upright, std::int64_t stored_width, std::int64_t stored_height,
                 int orientation) noexcept {
  const Turn turn = turn_of(orientation);
  Rect rect = upright;
  if (turn.exchange) {
    std::swap(rect.x, rect.y);
    std::swap(rect.width, rect.height);
  }
  if (turn.mirror_x) rect.x = stored_width - rect.x - rect.width;
  if (turn.mirror_y) rect.y = stored_height - rect.y - rect.height;
  return rect;
}

}  // namespace penstock::media
