// Rows of a lossy WebP: from luma and chroma planes to RGB, as libwebp makes them, bit for bit.
//
// The picture's chroma has half the rows and half the columns. The chroma of a pixel is mixed from
// the four samples around it: the one that covers it counts 9, its nearest neighbour in the row and
// in the column 3 each, the fourth 1; (sum + 8) / 16. Beyond the edge stands the sample of the
// edge.
//
// Thread safety: pure functions over the caller's memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "media/image/pixel_rows.h"

namespace penstock::media {

// A row of samples must be readable for kWebpRowSlack bytes past its end.
constexpr std::size_t kWebpRowSlack = 64;

struct WebpRow {
  const std::uint8_t* y;
  // (width + 1) / 2 samples each: of the row that covers this one, and of the nearest other one
  // (the same, at the top and at the bottom of the picture).
  const std::uint8_t *u, *v, *far_u, *far_v;
  const std::uint8_t* alpha;  // null: opaque
  std::int64_t width;
};

// How many values of memory webp_pixels needs for a row.
std::size_t webp_row_memory(std::int64_t width) noexcept;

// `native` is rgb, bgr or rgba; `to` has room for width pixels exactly.
void webp_pixels(const WebpRow& row, Native native, std::uint16_t* memory,
                 std::uint8_t* to) noexcept;

}  // namespace penstock::media
