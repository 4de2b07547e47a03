// Tokens as int64, with every instruction set that the machine has.
#include "formats/tokens/widen.h"

#include <gtest/gtest.h>

#include <vector>

#include "../targets.h"

namespace penstock::formats::tokens {
namespace {

template <class T>
void check_all_counts() {
  std::vector<T> tokens(101);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = T(~T(0) - T(i * i * 31));
  for (std::size_t count = 0; count < 100; ++count) {
    std::vector<std::int64_t> got(count + 1, 77);
    const auto* next = reinterpret_cast<const std::byte*>(tokens.data());
    widen(tokens.data() + 1, count, got.data(), count % 2 == 0 ? next : nullptr);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(got[i], std::int64_t(tokens[i + 1])) << i;
    EXPECT_EQ(got[count], 77) << "nothing is written behind the last";
  }
}

TEST(Widen, tokens_of_every_type_keep_their_values) {
  for_each_target([] {
    check_all_counts<std::uint16_t>();
    check_all_counts<std::uint32_t>();
    check_all_counts<std::int32_t>();
  });
}

}  // namespace
}  // namespace penstock::formats::tokens
