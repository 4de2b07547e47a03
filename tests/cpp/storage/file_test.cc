#include "storage/file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

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
