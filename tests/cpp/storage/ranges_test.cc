#include "storage/ranges.h"

#include <gtest/gtest.h>

namespace penstock::storage {
namespace {

std::vector<MergedRange> merged(std::vector<Range> ranges, MergeLimits limits) {
  std::vector<MergedRange> all;
  merge(ranges, limits, all);
  return all;
}

TEST(Merge, joins_neighbours_over_small_gaps_only) {
  const auto all = merged({{0, 10}, {12, 10}, {40, 5}}, {2, 1000});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].range.offset, 0U);
  EXPECT_EQ(all[0].range.size, 22U);
  EXPECT_EQ(all[0].count, 2U);
  EXPECT_EQ(all[1].first, 2U);
  EXPECT_EQ(all[1].range.offset, 40U);
}

TEST(Merge, stops_at_the_size_limit_but_lets_long_ranges_be) {
  const auto all = merged({{0, 60}, {60, 60}, {120, 500}}, {0, 100});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[2].range.size, 500U);
}

TEST(Merge, takes_in_ranges_that_overlap_or_repeat) {
  const auto all = merged({{0, 100}, {0, 100}, {20, 10}, {90, 20}}, {0, 1000});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].range.size, 110U);
  EXPECT_EQ(all[0].count, 4U);
}

TEST(Merge, of_nothing_is_nothing) {
  EXPECT_TRUE(merged({}, {}).empty());
}

}  // namespace
}  // namespace penstock::storage
