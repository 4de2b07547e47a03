// The inner loop of ScanDecoder.
//
// Thread safety: pure functions over what they are given.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "media/image/jpeg_scan.h"

namespace penstock::media {

// Eight bytes, the first one on top.
inline std::uint64_t load_bits(const std::uint8_t* at) {
  std::uint64_t word;
  std::memcpy(&word, at, 8);
  if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
  return word;
}

// The `size` bits behind the first `start` ones as a number: those that begin with 0 are negative.
inline std::int32_t magnitude(std::uint64_t buffer, unsigned start, unsigned size) {
  const std::uint64_t top = buffer << start;
  const std::uint64_t value = (top >> 1) >> (63 - size);
  const std::uint64_t negative = ~std::uint64_t(std::int64_t(top) >> 63);
  return std::int32_t(value - (negative & ((std::uint64_t{1} << size) - 1)));
}

// The symbol of a code that is longer than kLookBits; `total` 0: there is none.
ScanSymbol long_symbol(const ScanTable& table, std::uint64_t buffer);

// The blocks of one MCU, zeroed before, in natural order; `to` may be null. False: a code that
// is none. Reads past the end of the data, but not further than an MCU can be long.
bool decode_blocks(std::span<const ScanBlock> blocks, ScanBits& bits, std::int32_t* last_dc,
                   JBLOCKROW* to);

}  // namespace penstock::media
