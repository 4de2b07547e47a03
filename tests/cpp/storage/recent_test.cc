#include "storage/recent.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "counting.h"

namespace penstock::storage {
namespace {

constexpr std::uint64_t kMegabyte = 1 << 20;

TEST(Recent, requests_grow_as_reading_goes_on_and_are_small_after_a_jump) {
  const auto counting = std::make_shared<Counting>(20 * kMegabyte);
  const auto recent = keep_recent(counting);
  for (std::uint64_t at = 0; at < 4 * kMegabyte; at += 65'536) expect_bytes(*recent, at, 1000);
  EXPECT_LE(counting->reads, 6);  // 256 KB, 512 KB, then 1 MB each
  const int before = counting->reads;
  expect_bytes(*recent, 10 * kMegabyte, 200'000);
  EXPECT_EQ(counting->reads, before + 1);
  expect_bytes(*recent, 10 * kMegabyte + 262'000, 1000);  // across the end of what was fetched
  EXPECT_EQ(counting->reads, before + 2);
  expect_bytes(*recent, 20 * kMegabyte - 7, 7);
  EXPECT_EQ(counting->reads, before + 3);
}

TEST(Recent, what_was_read_last_is_not_fetched_again_and_no_more_than_8_MB_are_kept) {
  const auto counting = std::make_shared<Counting>(20 * kMegabyte);
  const auto recent = keep_recent(counting);
  expect_bytes(*recent, 3 * kMegabyte, 100);
  expect_bytes(*recent, 3 * kMegabyte - 1000, 2000);  // up to what is there
  EXPECT_EQ(counting->reads, 2);
  for (std::uint64_t at = 0; at < 15 * kMegabyte; at += 65'536) expect_bytes(*recent, at, 10);
  const int before = counting->reads;
  for (std::uint64_t at = 9 * kMegabyte; at < 15 * kMegabyte; at += 999'999) {
    expect_bytes(*recent, at, 10);
  }
  EXPECT_EQ(counting->reads, before);
  expect_bytes(*recent, 0, 10);
  EXPECT_EQ(counting->reads, before + 1);
}

TEST(Recent, beyond_the_end_and_failures_are_errors_that_are_not_kept) {
  const auto counting = std::make_shared<Counting>(1000);
  const auto recent = keep_recent(counting);
  std::vector<std::byte> into(10);
  EXPECT_FALSE(recent->read(991, into).ok());
  EXPECT_FALSE(recent->read(2000, into).ok());
  counting->broken = true;
  EXPECT_FALSE(recent->read(0, into).ok());
  counting->broken = false;
  expect_bytes(*recent, 0, 1000);
}

}  // namespace
}  // namespace penstock::storage
