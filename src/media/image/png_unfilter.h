// Undoing the filters of PNG rows.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace penstock::media {

// Filter 4's guess: of left, up and corner the one nearest to left + up - corner.
inline std::uint8_t png_paeth(int left, int up, int corner) {
  const int to_left = std::abs(up - corner), to_up = std::abs(left - corner),
            to_corner = std::abs(left + up - 2 * corner);
  return std::uint8_t(to_left <= to_up && to_left <= to_corner ? left
                      : to_up <= to_corner                     ? up
                                                               : corner);
}

// Undoes filter `type` (0 to 4) on a row of `bytes` bytes, in place. `above` is the row above,
// already undone, or a row of zeros. `step` is the distance to the pixel on the left in bytes: 1,
// 2, 3, 4, 6 or 8. False if there is no such filter.
bool unfilter_png_row(int type, std::uint8_t* row, const std::uint8_t* above, std::int64_t bytes,
                      int step) noexcept;

}  // namespace penstock::media
