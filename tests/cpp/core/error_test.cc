#include "penstock/error.h"

#include <gtest/gtest.h>

#include <memory>

namespace penstock {
namespace {

TEST(Error, says_what_happened_and_where) {
  const Error error =
      Error(Code::corrupt, "bad checksum").in_file("a.tar").at_offset(512).of_sample("7");
  EXPECT_EQ(error.to_string(), "corrupt: bad checksum (file a.tar, offset 512, sample 7)");
  EXPECT_EQ(Error(Code::timeout, "nothing came").to_string(), "timeout: nothing came");
}

TEST(Error, keeps_what_the_innermost_layer_knew) {
  Error error(Code::io, "short read");
  error.in_file("inner").in_file("outer");
  error.at_offset(0).at_offset(9);
  error.add_words(", twice");
  EXPECT_EQ(error.message(), "short read, twice");
  EXPECT_EQ(error.where().file, "inner");
  EXPECT_EQ(error.where().offset, 0);
}

TEST(Error, every_code_has_a_name) {
  for (int code = 0; code <= static_cast<int>(Code::internal); ++code) {
    EXPECT_NE(name_of(static_cast<Code>(code)), "unknown") << code;
  }
}

TEST(Result, holds_a_value_or_an_error) {
  Result<std::unique_ptr<int>> good(std::make_unique<int>(3));
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(**good, 3);
  const std::unique_ptr<int> taken = *std::move(good);
  EXPECT_EQ(*taken, 3);

  const Result<int> bad(Error(Code::closed, "stopped"));
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.error().code(), Code::closed);
  EXPECT_THROW((void)bad.value(), std::bad_variant_access);
}

TEST(Status, is_success_unless_told_otherwise) {
  EXPECT_TRUE(Status().ok());
  const Status failed = Error(Code::failed, "no");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message(), "no");
}

}  // namespace
}  // namespace penstock
