#include "formats/tar/header.h"

#include <gtest/gtest.h>

#include "formats/tar/names.h"
#include "formats/tar/pax.h"
#include "tars.h"

namespace penstock::formats::tar {
namespace {

Block block_of(const std::string& bytes) {
  return std::as_bytes(std::span(bytes)).first<kBlock>();
}

TEST(Header, is_read_if_its_checksum_is_right) {
  std::string block = Tar::header("a.jpg", 1234);
  Header header;
  ASSERT_TRUE(parse_header(block_of(block), true, header));
  EXPECT_EQ(header.type, Type::file);
  EXPECT_EQ(header.size, 1234U);
  for (std::size_t i = 0; i < 512; ++i) {
    if (i >= 148 && i < 156) continue;
    std::string flipped = block;
    flipped[i] = char(flipped[i] ^ 4);
    EXPECT_FALSE(parse_header(block_of(flipped), false, header)) << i;
  }
}

TEST(Header, sums_of_signed_bytes_are_taken_too) {
  std::string block = Tar::header(
      "gr\xc3\xbc\xc3\x9f"
      "e.txt",
      1);
  std::memset(block.data() + 148, ' ', 8);
  int sum = 0;
  for (const char byte : block) sum += static_cast<signed char>(byte);
  std::snprintf(block.data() + 148, 8, "%06o", unsigned(sum));
  Header header;
  EXPECT_TRUE(parse_header(block_of(block), false, header));
}

TEST(Header, sizes_in_base_256) {
  std::string block = Tar::header("a", 0);
  std::memset(block.data() + 124, 0, 12);
  block[124] = char(0x80);
  block[130] = 3;
  Header header;
  ASSERT_TRUE(parse_header(block_of(Tar::with_checksum(block)), true, header));
  EXPECT_EQ(header.size, std::uint64_t(3) << 40);
  block[125] = 1;
  EXPECT_FALSE(parse_header(block_of(Tar::with_checksum(block)), true, header)) << "too large";
  block[124] = char(0xff);
  EXPECT_FALSE(parse_header(block_of(Tar::with_checksum(block)), true, header)) << "negative";
}

TEST(Header, sizes_that_are_no_numbers_make_it_bad) {
  for (const char* text : {"12a", "9", "-1", "1 2"}) {
    std::string block = Tar::header("a", 0);
    std::memset(block.data() + 124, 0, 12);
    std::memcpy(block.data() + 124, text, std::strlen(text));
    Header header;
    EXPECT_FALSE(parse_header(block_of(Tar::with_checksum(block)), false, header)) << text;
  }
}

TEST(Header, links_and_folders_have_no_bytes_whatever_they_say) {
  for (const char type : {'1', '2', '3', '4', '5', '6'}) {
    Header header;
    ASSERT_TRUE(parse_header(block_of(Tar::header("a", 5000, type)), true, header));
    EXPECT_EQ(header.type, Type::other);
    EXPECT_EQ(header.size, 0U);
  }
}

TEST(Header, the_magic_is_asked_for_only_when_strict) {
  std::string block = Tar::header("a", 3);
  std::memset(block.data() + 257, 0, 8);
  block = Tar::with_checksum(block);
  Header header;
  EXPECT_TRUE(parse_header(block_of(block), false, header)) << "v7";
  EXPECT_FALSE(parse_header(block_of(block), true, header));
}

TEST(Header, names_have_a_prefix_in_ustar_and_none_in_gnu) {
  std::string block = Tar::header("name.jpg", 0);
  std::memcpy(block.data() + 345, "some/folder", 11);
  std::string name;
  name_of(block_of(block), name);
  EXPECT_EQ(name, "some/folder/name.jpg");
  std::memcpy(block.data() + 257, "ustar  ", 8);
  name_of(block_of(block), name);
  EXPECT_EQ(name, "name.jpg");
  name_of(block_of(Tar::header(std::string(100, 'x'), 0)), name);
  EXPECT_EQ(name, std::string(100, 'x'));
}

TEST(Names, split_at_the_first_dot_of_the_base_name) {
  const auto split = [](std::string_view name) {
    const auto parts = split_name(name);
    return parts ? std::string(parts->key) + "|" + std::string(parts->field) : "none";
  };
  EXPECT_EQ(split("a.jpg"), "a|jpg");
  EXPECT_EQ(split("v1.0/dir.x/0001.seg.png"), "v1.0/dir.x/0001|seg.png");
  EXPECT_EQ(split("./0001.jpg"), "./0001|jpg");
  EXPECT_EQ(split("a."), "a|");
  for (const char* name : {"", "a", ".hidden", "dir/._a.jpg", "x.y/a", "a.jpg/"}) {
    EXPECT_EQ(split(name), "none") << name;
  }
}

TEST(FieldNames, are_numbered_once_in_lower_case) {
  FieldNames names;
  EXPECT_EQ(names.number("jpg"), 0);
  EXPECT_EQ(names.number("CLS"), 1);
  EXPECT_EQ(names.number("cls", 0), 1);
  EXPECT_EQ(names.number("JPG", 7), 0);
  EXPECT_EQ(names.all(), (std::deque<std::string>{"jpg", "cls"}));
}

TEST(Pax, records_have_their_length_in_front) {
  std::string text = Tar::pax_record("path", "a b\nc=d") + Tar::pax_record("size", "12");
  std::string_view left = text;
  PaxRecord record;
  ASSERT_TRUE(take_pax_record(left, record));
  EXPECT_EQ(record.key, "path");
  EXPECT_EQ(record.value, "a b\nc=d");
  ASSERT_TRUE(take_pax_record(left, record));
  EXPECT_EQ(record.value, "12");
  EXPECT_TRUE(left.empty());
  for (const char* wrong : {"", "x", "5 a=", "99 a=b\n", "3 \n", "6 a=bc", "0 a=b\n", " a=b\n",
                            "18446744073709551617 a=b\n", "7 abcd\n"}) {
    left = wrong;
    EXPECT_FALSE(take_pax_record(left, record)) << wrong;
  }
}

}  // namespace
}  // namespace penstock::formats::tar
