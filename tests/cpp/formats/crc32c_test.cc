#include "formats/crc32c.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace penstock::formats {
namespace {

std::uint32_t crc_of(std::string_view text) {
  return crc32c(std::as_bytes(std::span(text.data(), text.size())));
}

TEST(Crc32c, of_the_values_in_rfc_3720) {
  EXPECT_EQ(crc_of(std::string_view()), 0U);
  EXPECT_EQ(crc_of("123456789"), 0xe3069283U);
  EXPECT_EQ(crc_of(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc_of(std::string(32, '\xff')), 0x62a8ab43U);
}

TEST(Crc32c, instructions_and_tables_agree_at_every_length_and_place) {
  std::vector<std::byte> bytes(40000);
  std::uint32_t state = 1;
  for (std::byte& byte : bytes) byte = std::byte((state = state * 1664525 + 1013904223) >> 24);
  const std::span<const std::byte> all(bytes);
  for (std::size_t size = 0; size < all.size(); size = size * 9 / 8 + 1) {
    for (const std::size_t start : {0, 1, 7}) {
      const auto some = all.subspan(start, size - std::min(size, start));
      ASSERT_EQ(crc32c(some), crc32c_portable(some)) << size;
    }
  }
  EXPECT_EQ(crc32c(all), crc32c_portable(all));
  EXPECT_EQ(crc32c(all.subspan(777), crc32c(all.first(777))), crc32c(all)) << "in two pieces";
}

}  // namespace
}  // namespace penstock::formats
