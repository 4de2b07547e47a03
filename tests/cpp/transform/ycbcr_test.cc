// Luma and chroma to colours: within one of the definition, the same on every instruction set.
#include "transform/ycbcr.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "../targets.h"

namespace penstock {
namespace {

std::uint8_t nearest(double value) {
  return static_cast<std::uint8_t>(std::clamp(std::round(value), 0.0, 255.0));
}

TEST(Ycbcr, colours_are_those_of_jfif) {
  for_each_target([] {
    for (int y = 0; y < 256; y += 3) {
      for (const int cr : {0, 1, 60, 127, 128, 129, 200, 255}) {
        // All values of cb in a row.
        std::vector<std::uint8_t> luma(256 + ycbcr_padding, std::uint8_t(y)), blue, red;
        for (int i = 0; i < 256 + ycbcr_padding; ++i) blue.push_back(std::uint8_t(i));
        red.assign(luma.size(), std::uint8_t(cr));
        std::vector<std::uint8_t> out(256 * 3);
        ycbcr_pixels(luma.data(), blue.data(), red.data(), 256, false, out.data());
        for (int cb = 0; cb < 256; ++cb) {
          const std::uint8_t* at = out.data() + cb * 3;
          ASSERT_LE(std::abs(at[0] - nearest(y + 1.402 * (cr - 128))), 1);
          ASSERT_LE(std::abs(at[1] - nearest(y - 0.344136 * (cb - 128) - 0.714136 * (cr - 128))),
                    1);
          ASSERT_LE(std::abs(at[2] - nearest(y + 1.772 * (cb - 128))), 1);
        }
      }
    }
  });
}

TEST(Ycbcr, rows_of_every_width_are_the_same_and_end_where_they_should) {
  std::vector<std::uint8_t> planes[3];
  for (std::size_t p = 0; p < 3; ++p) {
    for (std::size_t i = 0; i < 100 + ycbcr_padding; ++i)
      planes[p].push_back(std::uint8_t(i * (37 + 14 * p) + 5 * p));
  }
  std::vector<std::vector<std::uint8_t>> all;
  for_each_target([&] {
    std::vector<std::uint8_t> rows;
    for (const bool blue_first : {false, true}) {
      for (std::int64_t width = 1; width < 100; ++width) {
        std::vector<std::uint8_t> out(std::size_t(width) * 3 + 1, 77);
        ycbcr_pixels(planes[0].data(), planes[1].data(), planes[2].data(), width, blue_first,
                     out.data());
        ASSERT_EQ(out.back(), 77);
        rows.insert(rows.end(), out.begin(), out.end());
      }
    }
    all.push_back(rows);
  });
  for (const auto& rows : all) EXPECT_EQ(rows, all.front());
  EXPECT_EQ(all.front()[0], all.front()[all.front().size() / 2 + 2]);  // red is last now
}

}  // namespace
}  // namespace penstock
