// From luma and chroma to colours, as JFIF defines them (full range): a row of three planes to a
// row of pixels.
//
// Products are rounded down to 64ths and their sum to the nearest whole, so a value may be 1 off
// the exact one. Every instruction set gives the same bytes.
//
// Thread safety: pure functions over the caller's memory.
#pragma once

#include <cstdint>

namespace penstock {

// Planes are read up to this many bytes past their end.
inline constexpr std::int64_t ycbcr_padding = 64;

// `to` has room for `width` pixels exactly: red, green, blue, or the other way round.
void ycbcr_pixels(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr,
                  std::int64_t width, bool blue_first, std::uint8_t* to) noexcept;

}  // namespace penstock
