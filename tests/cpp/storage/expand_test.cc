#include "storage/expand.h"

#include <gtest/gtest.h>

#include "temp_folder.h"

namespace penstock::storage {
namespace {

using Names = std::vector<std::string>;

TEST(Expand, counts_with_leading_zeros) {
  EXPECT_EQ(*expand("t-{008..011}.tar"),
            (Names{"t-008.tar", "t-009.tar", "t-010.tar", "t-011.tar"}));
  EXPECT_EQ(*expand("t-{8..11}"), (Names{"t-8", "t-9", "t-10", "t-11"}));
  EXPECT_EQ(*expand("{2..0}"), (Names{"2", "1", "0"}));
  EXPECT_EQ(expand("train-{000..146}.tar")->size(), 147U);
}

TEST(Expand, lists_products_and_nests) {
  EXPECT_EQ(*expand("{a,b}{1..2}"), (Names{"a1", "a2", "b1", "b2"}));
  EXPECT_EQ(*expand("x{a,b{1..2},}"), (Names{"xa", "xb1", "xb2", "x"}));
}

TEST(Expand, leaves_other_braces_alone) {
  for (const char* name : {"a{}b", "a{x}b", "a{1..}b", "a{b", "a}b", "{a..c}"}) {
    EXPECT_EQ(*expand(name), Names{name}) << name;
  }
}

TEST(Expand, refuses_millions_and_endless_nesting) {
  EXPECT_EQ(expand("{0..99999999}").error().code(), Code::invalid_argument);
  EXPECT_EQ(expand("{0..9999}{0..9999}").error().code(), Code::invalid_argument);
  EXPECT_EQ(expand(std::string(100, '{') + "a,b" + std::string(100, '}')).ok(), true);
  std::string deep = "x";
  for (int i = 0; i < 100; ++i) deep = "{" + deep + ",y}";
  EXPECT_EQ(expand(deep).error().code(), Code::invalid_argument);
}

TEST(Expand, globs_in_byte_order) {
  const TempFolder folder;
  for (const char* name : {"b-1.tar", "b-10.tar", "B.tar", "a.txt"}) folder.write(name, "");
  EXPECT_EQ(*expand(folder / "*.tar"),
            (Names{folder / "B.tar", folder / "b-1.tar", folder / "b-10.tar"}));
  EXPECT_EQ(*expand(folder / "{a,b}*"),
            (Names{folder / "a.txt", folder / "b-1.tar", folder / "b-10.tar"}));
}

TEST(Expand, a_pattern_without_match_is_an_error_that_names_it) {
  const TempFolder folder;
  const auto none = expand(folder / "*.tar");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code(), Code::not_found);
  EXPECT_EQ(none.error().where().file, folder / "*.tar");
  EXPECT_EQ(expand("").error().code(), Code::invalid_argument);
}

TEST(Expand, a_file_with_such_a_name_is_that_file) {
  const TempFolder folder;
  folder.write("x{1,2}[3].tar", "");
  EXPECT_EQ(*expand(folder / "x{1,2}[3].tar"), Names{folder / "x{1,2}[3].tar"});
}

TEST(Expand, in_urls_only_braces) {
  EXPECT_EQ(*expand("https://host/{1..2}.tar?x=*"),
            (Names{"https://host/1.tar?x=*", "https://host/2.tar?x=*"}));
}

TEST(Expand, takes_lists) {
  EXPECT_EQ(*expand(Names{"{1..2}", "a"}), (Names{"1", "2", "a"}));
}

}  // namespace
}  // namespace penstock::storage
