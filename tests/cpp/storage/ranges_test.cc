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

// Keeps count of reads; those that begin at `bad` fail.
class Counted final : public Source {
 public:
  Counted() : bytes_(100'000) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = std::byte(i % 251);
    source_ = source_over(bytes_, "counted");
  }
  const std::string& name() const noexcept override { return source_->name(); }
  Stamp stamp() const noexcept override { return source_->stamp(); }
  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    ++reads;
    if (offset == bad) return Error(Code::io, "bad");
    return source_->read(offset, into);
  }

  mutable int reads = 0;
  std::uint64_t bad = ~std::uint64_t(0);

 private:
  std::vector<std::byte> bytes_;
  std::shared_ptr<const Source> source_;
};

TEST(ReadMerged, near_ones_are_one_read_in_any_order) {
  Counted source;
  const std::vector<std::uint64_t> offsets = {90'000, 300, 0, 300, 90'100, 50'000};
  std::vector<std::vector<std::byte>> memory(offsets.size(), std::vector<std::byte>(50));
  std::vector<Read> reads;
  for (std::size_t i = 0; i < offsets.size(); ++i) reads.push_back({offsets[i], memory[i]});
  std::vector<Status> outcomes(reads.size());
  read_merged(source, reads, outcomes);
  EXPECT_EQ(source.reads, 3);
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    ASSERT_TRUE(outcomes[i].ok());
    for (std::size_t k = 0; k < 50; ++k) EXPECT_EQ(memory[i][k], std::byte((offsets[i] + k) % 251));
  }
}

TEST(ReadMerged, a_failure_is_told_to_those_it_belongs_to) {
  Counted source;
  source.bad = 0;
  std::vector<std::byte> a(10), b(10), c(10);
  const std::vector<Read> reads = {{50'000, a}, {20, b}, {0, c}};
  std::vector<Status> outcomes(3);
  read_merged(source, reads, outcomes);
  EXPECT_TRUE(outcomes[0].ok());
  EXPECT_FALSE(outcomes[1].ok());
  EXPECT_FALSE(outcomes[2].ok());
}

TEST(Merge, of_nothing_is_nothing) {
  EXPECT_TRUE(merged({}, {}).empty());
}

}  // namespace
}  // namespace penstock::storage
