#include "media/image/exif.h"

#include <cstddef>

namespace penstock::media {

int exif_orientation(std::span<const std::uint8_t> tiff) noexcept {
  if (tiff.size() < 8) return 1;
  const bool little = tiff[0] == 'I' && tiff[1] == 'I';
  if (!little && !(tiff[0] == 'M' && tiff[1] == 'M')) return 1;
  const auto u16 = [&](std::size_t at) -> std::uint32_t {
    return little ? tiff[at] | tiff[at + 1] << 8 : tiff[at] << 8 | tiff[at + 1];
  };
  const auto u32 = [&](std::size_t at) -> std::uint32_t {
    return little ? u16(at) | u16(at + 2) << 16 : u16(at) << 16 | u16(at + 2);
  };
  constexpr std::size_t kEntry = 12;
  constexpr std::uint32_t kOrientation = 0x0112, kShort = 3, kLong = 4;
  const std::size_t directory = u32(4);
  if (directory > tiff.size() - 2) return 1;
  const std::size_t entries = u16(directory);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t at = directory + 2 + i * kEntry;
    if (at + kEntry > tiff.size()) return 1;
    if (u16(at) != kOrientation) continue;
    const std::uint32_t type = u16(at + 2);
    const std::uint32_t value = type == kShort ? u16(at + 8) : type == kLong ? u32(at + 8) : 0;
    return value >= 1 && value <= 8 ? int(value) : 1;
  }
  return 1;
}

}  // namespace penstock::media
