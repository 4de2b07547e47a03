// Windows of token files.
#include "formats/tokens/tokens.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "../storage/temp_folder.h"

namespace penstock::formats::tokens {
namespace {

using Numbers = std::vector<std::uint64_t>;

std::string file_of(int first, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    const auto token = std::uint16_t(first + i);
    bytes.append(reinterpret_cast<const char*>(&token), 2);
  }
  return bytes;
}

// The first token of each window and how many there are.
std::vector<std::pair<int, int>> windows(const Records& records) {
  std::vector<std::pair<int, int>> all;
  BufferPool pool;
  Record record;
  for (std::uint64_t i = 0; i < records.size(); ++i) {
    EXPECT_TRUE(records.read(i, pool, record).ok());
    std::uint16_t first = 0;
    std::memcpy(&first, record.fields[0].bytes.data(), 2);
    all.emplace_back(first, int(record.fields[0].bytes.size() / 2));
  }
  return all;
}

using Windows = std::vector<std::pair<int, int>>;

TEST(Tokens, windows_at_any_stride_stay_inside_their_file) {
  const TempFolder folder;
  const std::vector<std::string> paths{folder.write("a.bin", file_of(0, 10)),
                                       folder.write("b.bin", file_of(100, 5))};
  Options options;
  options.window = 4;
  EXPECT_EQ(windows(**open(paths, options)), (Windows{{0, 4}, {4, 4}, {100, 4}}));
  options.stride = 3;
  EXPECT_EQ(windows(**open(paths, options)), (Windows{{0, 4}, {3, 4}, {6, 4}, {100, 4}}));
  options.stride = 1;
  EXPECT_EQ((*open(paths, options))->size(), 7U + 2U);
  EXPECT_EQ((*open(paths, options))->name(8), paths[1] + ":1");
  options.window = 11;
  EXPECT_EQ((*open(paths, options))->size(), 0U);
}

TEST(Tokens, with_documents_no_window_crosses_a_boundary_and_none_is_lost) {
  const TempFolder folder;
  const std::string path = folder.write("a.bin", file_of(0, 12));
  Options options;
  options.window = 4;
  options.documents = {Numbers{0, 2, 2, 11}};  // of 2, 0, 9 and 1 tokens
  const auto records = open({path}, options);
  ASSERT_TRUE(records.ok()) << records.error().to_string();
  EXPECT_EQ(windows(**records), (Windows{{0, 2}, {2, 4}, {6, 4}, {10, 1}, {11, 1}}));
  BufferPool pool;
  Record record;
  ASSERT_TRUE((*records)->read(3, pool, record).ok());
  EXPECT_EQ(record.find("length")->integer, 1);
  EXPECT_EQ(record.find("document")->integer, 2);
}

struct Placed {
  std::vector<std::int64_t> tokens, lengths, documents;
  std::vector<Failure> failures;
};

Placed placed(const Records& records, const Numbers& indices,
              const std::vector<std::uint32_t>& slots, std::span<Record> into = {}) {
  const auto fields = records.placeable();
  const auto window = std::size_t(fields[0].shape[0]);
  Placed all{std::vector<std::int64_t>(slots.size() * window, 77),
             std::vector<std::int64_t>(slots.size(), 77),
             std::vector<std::int64_t>(slots.size(), 77),
             {}};
  std::vector<Placement> to{{0, reinterpret_cast<std::byte*>(all.tokens.data())}};
  if (fields.size() > 1) {
    to.push_back({1, reinterpret_cast<std::byte*>(all.lengths.data())});
    if (into.empty()) to.push_back({2, reinterpret_cast<std::byte*>(all.documents.data())});
  }
  BufferPool pool;
  records.read_placed(indices, slots, to, pool, into, all.failures);
  return all;
}

TEST(Tokens, windows_are_placed_as_int64_and_filled_up) {
  const TempFolder folder;
  const std::string path = folder.write("a.bin", file_of(0, 12));
  Options options;
  options.window = 4;
  options.pad = -1;
  options.documents = {Numbers{0, 2, 2, 11}};
  const auto records = open({path}, options);
  const Placed got = placed(**records, {3, 99, 0, 1}, {2, 3, 0, 1});
  EXPECT_EQ(got.tokens, (std::vector<std::int64_t>{0, 1, -1, -1, 2, 3, 4, 5, 10, -1, -1, -1,  //
                                                   77, 77, 77, 77}));
  EXPECT_EQ((std::vector(got.lengths.begin(), got.lengths.end() - 1)),
            (std::vector<std::int64_t>{2, 4, 1}));
  EXPECT_EQ((std::vector(got.documents.begin(), got.documents.end() - 1)),
            (std::vector<std::int64_t>{0, 2, 2}));
  ASSERT_EQ(got.failures.size(), 1U);
  EXPECT_EQ(got.failures[0].index, 1U);
  EXPECT_EQ(got.failures[0].error.code(), Code::out_of_range);
}

TEST(Tokens, fields_that_are_not_placed_are_read) {
  const TempFolder folder;
  Options options;
  options.window = 4;
  options.documents = {Numbers{0, 5}};
  const auto records = open({folder.write("a.bin", file_of(0, 12))}, options);
  std::vector<Record> into(2);
  const Placed got = placed(**records, {3, 0}, {0, 1}, into);
  EXPECT_TRUE(got.failures.empty());
  EXPECT_EQ(got.lengths, (std::vector<std::int64_t>{3, 4}));
  ASSERT_EQ(into[0].fields.size(), 1U);
  EXPECT_EQ(into[0].find("document")->integer, 1);
  EXPECT_EQ(into[1].find("document")->integer, 0);
}

TEST(Tokens, a_file_that_became_shorter_costs_its_own_windows) {
  const TempFolder folder;
  const std::vector<std::string> paths{folder.write("a.bin", file_of(0, 20'000)),
                                       folder.write("b.bin", file_of(100, 8))};
  Options options;
  options.window = 4;
  const auto records = open(paths, options);
  for (const off_t left : {off_t(39'999), off_t(5000), off_t(0)}) {
    ASSERT_EQ(::truncate(paths[0].c_str(), left), 0);
    const Placed got = placed(**records, {5000, 4999, 5001}, {0, 1, 2});
    ASSERT_EQ(got.failures.size(), 1U) << left;
    EXPECT_EQ(got.failures[0].index, 1U);
    EXPECT_EQ(got.failures[0].error.code(), Code::io);
    EXPECT_EQ(got.failures[0].error.where().file, paths[0]);
    EXPECT_EQ(got.tokens[0], 100);
    EXPECT_EQ(got.tokens[8], 104);
  }
}

TEST(Tokens, a_file_that_another_one_was_renamed_over_stays_as_it_was) {
  const TempFolder folder;
  const std::string path = folder.write("a.bin", file_of(7, 20));
  Options options;
  options.window = 4;
  const auto records = open({path}, options);
  std::filesystem::rename(folder.write("b.bin", file_of(0, 4)), path);
  const Placed got = placed(**records, {4}, {0});
  EXPECT_TRUE(got.failures.empty());
  EXPECT_EQ(got.tokens[0], 23);
}

TEST(Tokens, what_does_not_fit_is_refused) {
  const TempFolder folder;
  const std::string path = folder.write("a.bin", file_of(0, 10));
  Options options;
  EXPECT_EQ(open({path}, options).error().code(), Code::invalid_argument);
  options.window = 4;
  EXPECT_EQ(open({folder.write("odd.bin", "abc")}, options).error().code(), Code::corrupt);
  EXPECT_EQ(open({folder / "none.bin"}, options).error().code(), Code::not_found);
  options.documents = {Numbers{0, 11}};
  EXPECT_EQ(open({path}, options).error().code(), Code::corrupt);
  options.documents = {Numbers{1, 3}};
  EXPECT_EQ(open({path}, options).error().code(), Code::corrupt);
  options.documents = {Numbers{0, 5, 3}};
  EXPECT_EQ(open({path}, options).error().code(), Code::corrupt);
  options.documents = {};
  options.dtype = DType::float32;
  EXPECT_EQ(open({path}, options).error().code(), Code::invalid_argument);
  options.dtype = DType::uint32;
  options.window = std::uint64_t(1) << 62;
  EXPECT_EQ(open({path}, options).error().code(), Code::invalid_argument);
}

TEST(Tokens, an_empty_file_has_no_windows) {
  const TempFolder folder;
  Options options;
  options.window = 4;
  EXPECT_EQ((*open({folder.write("a.bin", "")}, options))->size(), 0U);
}

}  // namespace
}  // namespace penstock::formats::tokens
