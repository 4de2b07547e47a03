// How a TFRecord file is compressed, told by its first bytes.
#pragma once

#include <cstdint>
#include <span>

#include "formats/tfrecord/frame.h"

namespace penstock::formats::tfrecord {

enum class Packing : std::uint8_t { none, gzip, zlib };

// Twelve bytes are enough. zlib has no magic number, only two bytes that may begin a plain file
// too: a sound header is asked first.
inline Packing packing_of(std::span<const std::byte> start) noexcept {
  const auto byte = [&](std::size_t i) { return unsigned(start[i]); };
  if (start.size() < 2) return Packing::none;
  if (start.size() >= kHeaderBytes && length_of(start.data())) return Packing::none;
  if (byte(0) == 0x1f && byte(1) == 0x8b) return Packing::gzip;
  const bool zlib = (byte(0) & 0x0f) == 8 && byte(0) <= 0x78 && (byte(0) << 8 | byte(1)) % 31 == 0;
  return zlib ? Packing::zlib : Packing::none;
}

}  // namespace penstock::formats::tfrecord
