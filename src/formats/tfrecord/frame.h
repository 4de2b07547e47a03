// How a record lies in a TFRecord file: u64 length, u32 checksum of the length, the record, u32
// checksum of the record. Little-endian; checksums are CRC-32C, masked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "formats/crc32c.h"

namespace penstock::formats::tfrecord {

inline constexpr std::size_t kHeaderBytes = 12, kFooterBytes = 4;

// A checksum of bytes that hold checksums is weak: so they are stored like this.
inline std::uint32_t masked(std::uint32_t crc) noexcept {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

inline std::uint32_t load32(const std::byte* at) noexcept {
  std::uint32_t number;
  std::memcpy(&number, at, sizeof(number));
  return number;
}

// The length that a header gives; nothing if its checksum is wrong.
inline std::optional<std::uint64_t> length_of(const std::byte* header) noexcept {
  if (masked(crc32c({header, 8})) != load32(header + 8)) return std::nullopt;
  std::uint64_t length;
  std::memcpy(&length, header, sizeof(length));
  return length;
}

inline bool is_sound(std::span<const std::byte> record,
                     std::span<const std::byte> footer) noexcept {
  return masked(crc32c(record)) == load32(footer.data());
}

}  // namespace penstock::formats::tfrecord
