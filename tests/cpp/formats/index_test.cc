#include "formats/index.h"

#include <gtest/gtest.h>

#include <cstring>

#include "formats/index_builder.h"

namespace penstock::formats {
namespace {

IndexBuilder three_records(bool hashes = false) {
  IndexBuilder builder(hashes);
  builder.begin("a", 512);
  builder.part(0, 512, 100, 11);
  builder.part(1, 1536, 3, 22);
  builder.begin("", 4096);
  builder.spoil(2, 4097);
  builder.begin("key/c", 8192);
  builder.part(1, 8192, 0, 33);
  return builder;
}

IndexBuilder::Extra extra() {
  IndexBuilder::Extra all;
  all.fields = {"jpg", "cls"};
  all.stamp = {10000, 1234567890123456789};
  all.findings = {1, 2, 3, 4, 5, 6, 7};
  return all;
}

std::vector<std::uint64_t> copy_of(const Index& index) {
  std::vector<std::uint64_t> words(index.bytes().size() / 8);
  std::memcpy(words.data(), index.bytes().data(), index.bytes().size());
  return words;
}

TEST(Index, gives_back_what_was_put_in) {
  const Result<Index> made = three_records(true).finish(extra());
  ASSERT_TRUE(made.ok());
  const std::vector<std::uint64_t> words = copy_of(*made);
  const Result<Index> opened = Index::open(std::as_bytes(std::span(words)), nullptr);
  ASSERT_TRUE(opened.ok());
  const Index& index = *opened;
  EXPECT_EQ(index.records(), 3U);
  EXPECT_EQ(index.parts(), 3U);
  EXPECT_EQ(index.payload_bytes(), 103U);
  EXPECT_EQ(index.largest(), 1536U + 3 - 512 + 1);
  EXPECT_EQ(index.stamp(), (storage::Stamp{10000, 1234567890123456789}));
  EXPECT_EQ(index.findings().not_files, 1U);
  EXPECT_EQ(index.findings().without_end, 7U);
  EXPECT_EQ(index.fields(), (std::vector<std::string_view>{"jpg", "cls"}));
  Index::Entry entry;
  ASSERT_TRUE(index.entry(0, entry));
  EXPECT_EQ(entry.key, "a");
  EXPECT_EQ(entry.count, 2U);
  Index::Part part;
  ASSERT_TRUE(index.part(0, entry.first + 1, part));
  EXPECT_EQ(part.offset, 1536U);
  EXPECT_EQ(part.size, 3U);
  EXPECT_EQ(part.field, 1);
  EXPECT_EQ(index.hash(1), 22U);
  ASSERT_TRUE(index.entry(2, entry));
  EXPECT_EQ(entry.key, "key/c");
  EXPECT_EQ(index.bad(0), nullptr);
  ASSERT_NE(index.bad(1), nullptr);
  EXPECT_EQ(index.bad(1)->offset, 4097U);
  EXPECT_EQ(index.bad(2), nullptr);
}

TEST(Index, members_beyond_4_gb_are_kept_in_full) {
  IndexBuilder builder(false);
  const std::uint64_t far = std::uint64_t(5) << 32;
  builder.begin("a", 512);
  builder.part(0, 512, 7, 0);
  builder.part(0, far, far, 0);
  IndexBuilder::Extra all = extra();
  all.stamp.size = 3 * far;
  const Result<Index> index = builder.finish(all);
  Index::Part part;
  ASSERT_TRUE(index->part(0, 1, part));
  EXPECT_EQ(part.offset, far);
  EXPECT_EQ(part.size, far);
}

TEST(Index, is_compact) {
  IndexBuilder builder(false);
  for (std::uint64_t i = 0; i < 10000; ++i) {
    builder.begin("00000000", i * 70000);
    builder.part(0, i * 70000, 65000, 0);
    builder.part(1, i * 70000 + 66000, 2, 0);
  }
  IndexBuilder::Extra all = extra();
  all.stamp.size = std::uint64_t(1) << 40;
  EXPECT_LE(builder.finish(all)->bytes().size(), 10000U * 45);
}

TEST(Index, any_flipped_byte_and_any_cut_is_noticed) {
  const std::vector<std::uint64_t> sound = copy_of(*three_records(true).finish(extra()));
  const std::size_t size = sound.size() * 8;
  for (std::size_t i = 0; i < size; ++i) {
    std::vector<std::uint64_t> words = sound;
    reinterpret_cast<unsigned char*>(words.data())[i] ^= 0x10;
    EXPECT_FALSE(Index::open(std::as_bytes(std::span(words)), nullptr).ok()) << i;
    EXPECT_FALSE(Index::open(std::as_bytes(std::span(sound)).first(i), nullptr).ok()) << i;
  }
}

TEST(Index, another_version_is_named) {
  std::vector<std::uint64_t> words = copy_of(*three_records().finish(extra()));
  reinterpret_cast<std::uint32_t*>(words.data())[2] = 9;
  const Result<Index> index = Index::open(std::as_bytes(std::span(words)), nullptr);
  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.error().code(), Code::unsupported);
  EXPECT_NE(index.error().message().find("--refresh"), std::string::npos);
}

TEST(Index, of_the_first_version_is_read_if_nothing_was_damaged) {
  for (const std::uint64_t damaged : {0, 1}) {
    IndexBuilder::Extra about = extra();
    about.findings = {};
    about.findings.damaged = damaged;
    std::vector<std::uint64_t> words = copy_of(*three_records().finish(about));
    reinterpret_cast<std::uint32_t*>(words.data())[2] = 1;
    const Result<Index> index = Index::open(std::as_bytes(std::span(words)), nullptr);
    ASSERT_EQ(index.ok(), damaged == 0);
    if (!index.ok()) {
      EXPECT_EQ(index.error().code(), Code::unsupported);
    }
  }
}

TEST(Index, parts_outside_the_file_are_refused) {
  IndexBuilder builder(false);
  builder.begin("a", 9000);
  builder.part(0, 9000, 1001, 0);
  const Result<Index> index = builder.finish(extra());
  Index::Part part;
  EXPECT_FALSE(index->part(0, 0, part));
}

// Such records take a shorter way through the tables; what comes near must not.
TEST(Index, records_of_one_part_are_found_whether_all_are_alike_or_not) {
  struct Part {
    std::uint64_t record, place;
  };
  const std::vector<std::vector<Part>> plans = {
      {{0, 0}, {1, 0}, {2, 0}},                                  // all alike
      {{0, 12}, {1, 12}, {2, 12}}, {{0, 12}, {1, 12}, {2, 20}},  // one lies elsewhere
      {{0, 0}, {2, 0}, {2, 30}},                                 // none and two
      {{0, 0}, {1, 0}, {1, 30}},
  };
  for (const std::vector<Part>& plan : plans) {
    IndexBuilder builder(false);
    for (std::uint64_t r = 0; r < 3; ++r) {
      builder.begin("", 100 * r);
      for (std::size_t p = 0; p < plan.size(); ++p) {
        if (plan[p].record == r) builder.part(0, 100 * r + plan[p].place, 5 + p, 0);
      }
    }
    IndexBuilder::Extra one_field = extra();
    one_field.fields = {"data"};
    const Result<Index> index = builder.finish(one_field);
    ASSERT_TRUE(index.ok());
    std::size_t seen = 0;
    for (std::uint64_t r = 0; r < 3; ++r) {
      Index::Entry entry;
      index->fetch_entry(r);
      index->fetch_parts(r);
      ASSERT_TRUE(index->entry(r, entry));
      EXPECT_EQ(entry.key, "");
      for (std::uint64_t p = entry.first; p < entry.first + entry.count; ++p, ++seen) {
        Index::Part part;
        ASSERT_TRUE(index->part(r, p, part));
        EXPECT_EQ(plan[seen].record, r);
        EXPECT_EQ(part.offset, 100 * r + plan[seen].place);
        EXPECT_EQ(part.size, 5 + seen);
        EXPECT_EQ(part.field, 0);
      }
    }
    EXPECT_EQ(seen, plan.size());
  }
}

TEST(Index, keys_decide_the_digest_and_where_they_lie_does_not) {
  const auto digest = [](std::vector<std::string> keys, std::uint64_t offset) {
    IndexBuilder builder(false);
    for (const std::string& key : keys) builder.begin(key, offset);
    return builder.finish(extra())->digest();
  };
  EXPECT_EQ(digest({"a", "bc"}, 0), digest({"a", "bc"}, 512));
  EXPECT_NE(digest({"a", "bc"}, 0), digest({"ab", "c"}, 0));
  EXPECT_NE(digest({"a", "b"}, 0), digest({"b", "a"}, 0));
}

TEST(IndexBuilder, finds_keys_that_come_again) {
  IndexBuilder builder(false);
  for (const char* key : {"a", "b", "a", "c", "b", "a"}) {
    builder.begin(key, 0);
    builder.part(0, 0, 1, 0);
  }
  EXPECT_EQ(builder.repeated_keys(), (std::vector<std::uint64_t>{2, 4, 5}));
}

}  // namespace
}  // namespace penstock::formats
