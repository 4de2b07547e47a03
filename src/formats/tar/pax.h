// Pax records: "27 path=some/long/name.jpg\n", each with its own length in front.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock::formats::tar {

struct PaxRecord {
  std::string_view key;
  std::string_view value;
};

// Takes the first record off `text`. False if it cannot be read; then `text` is unchanged.
bool take_pax_record(std::string_view& text, PaxRecord& into) noexcept;

// A decimal number. False if it is none, or more than 2^62.
bool parse_decimal(std::string_view text, std::uint64_t& into) noexcept;

}  // namespace penstock::formats::tar
