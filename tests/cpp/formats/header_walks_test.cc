#include "formats/tar/header_walks.h"

#include <gtest/gtest.h>

#include "../storage/cold_file.h"
#include "../storage/temp_folder.h"
#include "tars.h"

namespace penstock::formats::tar {
namespace {

constexpr std::size_t kMember = 40'000, kStep = 512 + 40'448, kMembers = 600;

std::string tar_of_members(const TempFolder& folder) {
  Tar tar;
  for (std::size_t i = 0; i < kMembers; ++i) {
    tar.member(std::to_string(i) + ".bin", std::string(kMember, char(i)));
  }
  tar.end();
  return folder.write("a.tar", tar.bytes());
}

TEST(HeaderWalks, headers_further_on_come_into_memory) {
  const TempFolder folder;
  const std::string path = tar_of_members(folder);
  const auto stream = storage::open_stream(path);
  if (!storage::drop_from_memory(path)) GTEST_SKIP() << "no disk here";
  HeaderWalks walks(**stream, 3);
  walks.begin(0, kStep);
  EXPECT_EQ(walks.begun(), 3U);
  for (const std::size_t i : {kMembers / 4 + 1, kMembers / 2 + 10, kMembers - 1}) {
    storage::wait_for_page(path, i * kStep / storage::kPage);
  }
}

TEST(HeaderWalks, an_index_made_with_them_is_that_made_without) {
  const TempFolder folder;
  const std::string path = tar_of_members(folder);
  const auto index = [&](std::size_t walks) {
    const auto stream = storage::open_stream(path);
    (void)storage::drop_from_memory(path);
    return *make_index(**stream, *storage::stamp_of(path), false, walks);
  };
  const Index with = index(3), without = index(0);
  EXPECT_EQ(with.records(), kMembers);
  EXPECT_EQ(with.digest(), without.digest());
}

TEST(HeaderWalks, walks_without_headers_end_and_streams_of_no_file_have_none) {
  const TempFolder folder;
  const std::string path = folder.write("a", std::string(1 << 20, 'x'));
  const auto stream = storage::open_stream(path);
  HeaderWalks walks(**stream, 3);
  walks.begin(0, 1000);
  EXPECT_EQ(walks.begun(), 3U);
  walks.begin(0, 1000);  // waits for the first three
  EXPECT_EQ(walks.begun(), 6U);
  const auto memory = storage::stream_over({}, "memory");
  HeaderWalks none(*memory, 3);
  none.begin(0, 1000);
  EXPECT_EQ(none.begun(), 0U);
}

}  // namespace
}  // namespace penstock::formats::tar
