// Windows of token files.
#include "formats/tokens/tokens.h"

#include <gtest/gtest.h>

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
