#include "storage/blocks.h"

#include <gtest/gtest.h>

#include <vector>

#include "counting.h"

namespace penstock::storage {
namespace {

TEST(Blocks, neighbours_are_one_read) {
  const auto counting = std::make_shared<Counting>(200'000);
  const auto blocks = in_blocks(counting);
  for (std::uint64_t offset = 0; offset < 60'000; offset += 100) expect_bytes(*blocks, offset, 99);
  EXPECT_EQ(counting->reads, 1);
  expect_bytes(*blocks, 65'500, 100);  // in two blocks
  EXPECT_EQ(counting->reads, 2);
  expect_bytes(*blocks, 199'990, 10);  // the last one is shorter
  expect_bytes(*blocks, 50'000, 100'000);
  EXPECT_EQ(counting->reads, 4);
}

TEST(Blocks, keeps_a_bounded_number_and_the_last_ones) {
  const auto counting = std::make_shared<Counting>(10 << 20);
  const auto blocks = in_blocks(counting);
  for (std::uint64_t i = 0; i < 100; ++i) expect_bytes(*blocks, i << 16, 10);
  EXPECT_EQ(counting->reads, 100);
  expect_bytes(*blocks, std::uint64_t(99) << 16, 10);
  expect_bytes(*blocks, std::uint64_t(36) << 16, 10);
  EXPECT_EQ(counting->reads, 100);
  expect_bytes(*blocks, 0, 10);
  EXPECT_EQ(counting->reads, 101);
}

TEST(Blocks, beyond_the_end_and_failures_are_errors_that_are_not_kept) {
  const auto counting = std::make_shared<Counting>(1000);
  const auto blocks = in_blocks(counting);
  std::vector<std::byte> into(10);
  EXPECT_EQ(blocks->read(995, into).error().code(), Code::io);
  EXPECT_EQ(blocks->read(~std::uint64_t(0), into).error().code(), Code::io);
  counting->broken = true;
  EXPECT_EQ(blocks->read(0, into).error().message(), "broken");
  counting->broken = false;
  expect_bytes(*blocks, 0, 10);
}

}  // namespace
}  // namespace penstock::storage
