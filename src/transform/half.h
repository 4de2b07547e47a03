// IEEE half precision from single, rounded to nearest even.
//
// Thread safety: a pure function.
#pragma once

#include <bit>
#include <cstdint>

namespace penstock {

constexpr std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)  // NaN, kept quiet
    return static_cast<std::uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x47800000) return static_cast<std::uint16_t>(sign | 0x7c00);  // 2^16 and more
  // Below 2^-14 a half is a multiple of 2^-24.
  const bool tiny = magnitude < 0x38800000;
  const std::uint32_t exponent = magnitude >> 23;
  const std::uint32_t shift = tiny ? 126 - exponent : 13;
  if (shift > 24) return static_cast<std::uint16_t>(sign);
  const std::uint32_t exact =
      tiny ? (magnitude & 0x7fffff) | 0x800000 : magnitude - ((127u - 15) << 23);
  const std::uint32_t kept = exact >> shift;
  const std::uint32_t lost = exact & ((1u << shift) - 1);
  const std::uint32_t halfway = 1u << (shift - 1);
  const std::uint32_t up = lost > halfway || (lost == halfway && (kept & 1)) ? 1 : 0;
  return static_cast<std::uint16_t>(sign | (kept + up));  // a carry moves into the exponent
}

}  // namespace penstock
