// Digest: 64 bits that tell plans apart. Not for adversaries. Part of the token's format.
//
// Thread safety: a plain value.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace penstock::data {

class Digest {
 public:
  constexpr Digest& add(std::uint64_t value) noexcept {
    state_ = scramble(state_ ^ scramble(value + 0x9E3779B97F4A7C15));
    return *this;
  }
  constexpr Digest& add(std::string_view text) noexcept {
    add(text.size());
    for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
    return *this;
  }
  constexpr Digest& add(double value) noexcept { return add(std::bit_cast<std::uint64_t>(value)); }
  constexpr std::uint64_t value() const noexcept { return state_; }

 private:
  // The finaliser of SplitMix64: every bit of x changes half of the result's.
  static constexpr std::uint64_t scramble(std::uint64_t x) noexcept {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }
  std::uint64_t state_ = 0;
};

}  // namespace penstock::data
