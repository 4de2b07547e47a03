// CRC-32C (Castagnoli): the checksum of TFRecord and of Zarr. Uses the processor's instruction
// where there is one, which is found out when the program runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::formats {

// Of `bytes`; or, with the checksum of what came before, of both together.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0) noexcept;

// The same without special instructions: what crc32c() falls back to, and is tested against.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t before = 0) noexcept;

}  // namespace penstock::formats
