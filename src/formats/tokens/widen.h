// Tokens as int64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "penstock/dtype.h"

namespace penstock::formats::tokens {

// `next`: what is widened after this, if that is known. It is asked for on the way, line by line,
// so that a miss of the cache there costs little.
void widen(const std::uint16_t* from, std::size_t count, std::int64_t* to,
           const std::byte* next = nullptr) noexcept;
void widen(const std::uint32_t* from, std::size_t count, std::int64_t* to,
           const std::byte* next = nullptr) noexcept;
void widen(const std::int32_t* from, std::size_t count, std::int64_t* to,
           const std::byte* next = nullptr) noexcept;

// Whole tokens of uint16, uint32 or int32, wherever they lie.
void widen(DType dtype, std::span<const std::byte> from, std::int64_t* to,
           const std::byte* next = nullptr) noexcept;

}  // namespace penstock::formats::tokens
