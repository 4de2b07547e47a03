// Tokens as int64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::data {

void widen(const std::uint16_t* from, std::size_t count, std::int64_t* to) noexcept;
void widen(const std::uint32_t* from, std::size_t count, std::int64_t* to) noexcept;
void widen(const std::int32_t* from, std::size_t count, std::int64_t* to) noexcept;

}  // namespace penstock::data
