// The one thing a loader wants from EXIF: which way is up.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

namespace penstock::media {

// `tiff` is an EXIF block from its byte-order mark on. Answers 1 to 8; 1 where there is no
// orientation or the block makes no sense. Reads only the first directory.
int exif_orientation(std::span<const std::uint8_t> tiff) noexcept;

}  // namespace penstock::media
