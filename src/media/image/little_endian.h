// Integers as BMP and GIF store them.
#pragma once

#include <cstdint>

namespace penstock::media {

inline std::uint32_t le16(const std::uint8_t* p) {
  return p[0] | std::uint32_t(p[1]) << 8;
}
inline std::uint32_t le32(const std::uint8_t* p) {
  return le16(p) | le16(p + 2) << 16;
}

}  // namespace penstock::media
