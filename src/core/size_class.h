// Size classes of the buffer pool: eight per power of two, so that rounding wastes an eighth at
// most (or 63 bytes), and sizes that differ a little share recycled memory.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace penstock::detail {

inline constexpr std::size_t kUnit = 64;                            // bytes
inline constexpr std::size_t kLargestBlock = std::size_t{1} << 46;  // far above any machine
inline constexpr std::size_t kSizeClasses = 8 + 8 * (40 - 3);       // up to 2^40 units

// Classes 0..7 hold 1..8 units; after that each run of eight classes doubles the step.
constexpr std::size_t size_class_of(std::size_t size) noexcept {
  const std::size_t last = size <= kUnit ? 0 : (size - 1) / kUnit;  // index of the last unit
  if (last < 8) return last;
  const int shift = std::bit_width(last) - 4;
  return 8 + 8 * static_cast<std::size_t>(shift) + ((last >> shift) - 8);
}

constexpr std::size_t size_of_class(std::size_t size_class) noexcept {
  if (size_class < 8) return (size_class + 1) * kUnit;
  const std::size_t shift = (size_class - 8) / 8;
  const std::size_t step = (size_class - 8) % 8;
  return ((step + 8 + 1) << shift) * kUnit;
}

static_assert(size_class_of(kLargestBlock) < kSizeClasses);

}  // namespace penstock::detail
