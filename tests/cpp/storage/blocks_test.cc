#include "storage/blocks.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock::storage {
namespace {

// Bytes that tell their offset, and how they were asked for.
class Counting final : public Source {
 public:
  explicit Counting(std::size_t size) : bytes_(size) {
    for (std::size_t i = 0; i < size; ++i) bytes_[i] = at(i);
    source_ = source_over(bytes_, "counting");
  }
  static std::byte at(std::uint64_t offset) {
    return std::byte((offset * 2654435761U >> 7) & 0xff);
  }
  const std::string& name() const noexcept override { return source_->name(); }
  Stamp stamp() const noexcept override { return source_->stamp(); }
  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    ++reads;
    if (broken) return Error(Code::io, "broken");
    return source_->read(offset, into);
  }

  mutable int reads = 0;
  bool broken = false;

 private:
  std::vector<std::byte> bytes_;
  std::shared_ptr<const Source> source_;
};

void expect_bytes(const Source& source, std::uint64_t offset, std::size_t size) {
  std::vector<std::byte> got(size);
  const Status status = source.read(offset, got);
  ASSERT_TRUE(status.ok()) << status.error().to_string();
  for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(got[i], Counting::at(offset + i)) << i;
}

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
