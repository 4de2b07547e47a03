#include "storage/file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "storage/fault_guard.h"
#include "storage/map.h"
#include "storage/open_files.h"
#include "temp_folder.h"

namespace penstock::storage {
namespace {

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(File, gives_any_range) {
  const TempFolder folder;
  const auto file = File::open(folder.write("a", "0123456789"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->size(), 10U);
  std::array<std::byte, 4> bytes;
  ASSERT_TRUE((*file)->read(3, bytes).ok());
  EXPECT_EQ(text(bytes), "3456");
  EXPECT_TRUE((*file)->read(10, std::span(bytes).first(0)).ok());
}

TEST(File, says_that_it_shrank_and_where) {
  const TempFolder folder;
  const std::string path = folder.write("a", "0123456789");
  const auto file = File::open(path);
  ASSERT_EQ(::truncate(path.c_str(), 5), 0);
  std::array<std::byte, 4> bytes;
  const Status status = (*file)->read(3, bytes);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::io);
  EXPECT_NE(status.error().message().find("shorter"), std::string::npos);
  EXPECT_EQ(status.error().where().offset, 5);
  EXPECT_EQ(status.error().where().file, path);
}

TEST(File, a_read_beyond_the_end_or_beyond_all_files_is_an_error) {
  const TempFolder folder;
  const auto file = File::open(folder.write("a", "0123456789"));
  std::array<std::byte, 4> bytes;
  EXPECT_EQ((*file)->read(8, bytes).error().code(), Code::io);
  EXPECT_EQ((*file)->read(~std::uint64_t(0), bytes).error().code(), Code::out_of_range);
}

TEST(File, what_cannot_be_opened_is_named) {
  const TempFolder folder;
  EXPECT_EQ(File::open(folder / "none").error().code(), Code::not_found);
  EXPECT_EQ(File::open(folder / "none").error().where().file, folder / "none");
  EXPECT_EQ(File::open(folder.path()).error().code(), Code::invalid_argument);
  EXPECT_EQ(open_source("s3://bucket/x.tar").error().code(), Code::unsupported);
}

// 32 reads of 100 bytes, far apart in a file of 32 pages whose bytes tell their page.
class ScatteredReads : public testing::Test {
 protected:
  static constexpr std::size_t kPage = 4096, kPages = 32, kSize = 100;

  ScatteredReads() {
    std::string all;
    for (std::size_t p = 0; p < kPages; ++p) all += std::string(kPage, char('A' + p));
    path_ = folder_.write("a", all);
    for (std::size_t p = 0; p < kPages; ++p) {
      reads_.push_back({p * kPage + 1000, std::span(memory_).subspan(p * kSize, kSize)});
    }
  }
  std::string page(std::size_t p) const { return text(reads_[p].into); }

  const TempFolder folder_;
  std::string path_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(kPages * kSize);
  std::vector<Read> reads_;
  std::vector<Status> outcomes_ = std::vector<Status>(kPages);
};

TEST_F(ScatteredReads, give_what_is_there) {
  const auto file = File::open(path_);
  (*file)->read_batch(reads_, outcomes_);
  for (std::size_t p = 0; p < kPages; ++p) {
    ASSERT_TRUE(outcomes_[p].ok());
    EXPECT_EQ(page(p), std::string(kSize, char('A' + p)));
  }
  reads_[7].offset = kPage * kPages - 50;
  (*file)->read_batch(reads_, outcomes_);
  EXPECT_EQ(outcomes_[7].error().code(), Code::io);
  EXPECT_TRUE(outcomes_[8].ok());
}

TEST_F(ScatteredReads, of_a_file_that_has_become_shorter_fail_behind_its_end) {
  const auto file = File::open(path_);
  (*file)->read_batch(reads_, outcomes_);
  ASSERT_EQ(::truncate(path_.c_str(), off_t(10 * kPage + 1050)), 0);  // inside read 10
  std::fill(memory_.begin(), memory_.end(), std::byte());
  (*file)->read_batch(reads_, outcomes_);
  for (std::size_t p = 0; p < kPages; ++p) {
    ASSERT_EQ(outcomes_[p].ok(), p < 10) << p;
    if (p < 10) {
      EXPECT_EQ(page(p), std::string(kSize, char('A' + p)));
    } else {
      EXPECT_NE(outcomes_[p].error().message().find("shorter"), std::string::npos);
    }
  }
}

TEST_F(ScatteredReads, of_a_file_that_was_cut_inside_its_last_page_are_no_zeros) {
  const auto file = File::open(path_);
  (*file)->read_batch(reads_, outcomes_);
  ASSERT_EQ(::truncate(path_.c_str(), off_t((kPages - 1) * kPage + 1000)), 0);
  (*file)->read_batch(reads_, outcomes_);
  EXPECT_TRUE(outcomes_[kPages - 2].ok());
  EXPECT_FALSE(outcomes_[kPages - 1].ok());
}

TEST(FaultGuard, other_faults_are_left_alone) {
  ASSERT_TRUE(survives([] {}));
  EXPECT_DEATH(::raise(SIGBUS), "");
}

TEST(FaultGuard, a_fault_inside_is_told_and_forgotten) {
  const TempFolder folder;
  const std::string path = folder.write("a", std::string(8192, 'x'));
  const auto map = Map::open(path);
  ASSERT_TRUE(map.ok());
  ASSERT_EQ(::truncate(path.c_str(), 0), 0);
  const std::byte* at = (*map)->bytes().data();
  for (int k = 0; k < 3; ++k) {
    volatile unsigned sum = 0;
    EXPECT_FALSE(survives([&] { sum = unsigned(*static_cast<const volatile std::byte*>(at)); }));
    EXPECT_TRUE(survives([&] { sum = 7; }));
    EXPECT_EQ(sum, 7U);
  }
}

TEST(Source, a_batch_of_reads_fails_one_by_one) {
  const TempFolder folder;
  const auto file = open_source(folder.write("a", "0123456789"));
  std::array<std::byte, 3> first, second, third;
  const std::array<Read, 3> reads = {Read{7, first}, Read{9, second}, Read{0, third}};
  std::array<Status, 3> outcomes;
  (*file)->read_batch(reads, outcomes);
  EXPECT_TRUE(outcomes[0].ok());
  EXPECT_FALSE(outcomes[1].ok());
  EXPECT_TRUE(outcomes[2].ok());
  EXPECT_EQ(text(first) + text(third), "789012");
}

TEST(OpenFiles, keeps_only_so_many_open_and_reads_all) {
  const TempFolder folder;
  std::vector<std::string> names;
  std::vector<Stamp> stamps;
  for (int i = 0; i < 50; ++i) {
    names.push_back(folder.write(std::to_string(i), std::string(1, char('0' + i))));
    stamps.push_back(*stamp_of(names.back()));
  }
  const OpenFiles files(names, stamps, 8);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < 50; ++i) {
      const auto file = files.open(i);
      ASSERT_TRUE(file.ok());
      std::byte byte;
      ASSERT_TRUE((*file)->read(0, std::span(&byte, 1)).ok());
      EXPECT_EQ(char(byte), char('0' + i));
      EXPECT_LE(files.open_now(), 8U);
    }
  }
}

TEST(OpenFiles, notice_a_file_that_was_replaced) {
  const TempFolder folder;
  const std::string path = folder.write("a", "one");
  const OpenFiles files({path}, {*stamp_of(path)});
  folder.write("a", "other");
  const auto file = files.open(0);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code(), Code::io);
  EXPECT_EQ(file.error().where().file, path);
}

}  // namespace
}  // namespace penstock::storage
