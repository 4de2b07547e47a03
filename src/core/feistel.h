// The mixing behind Permutation, as it must be computed for ever.
//
// A number of k bits (k = bits needed for n - 1) is split into a low part R of ceil(k/2) bits and a
// high part L of floor(k/2) bits. Round 0, 2, 4 ... : L ^= F(R), round 1, 3, 5 ... : R ^= F(L),
// each cut to the width of its part. F is fold(fold(x ^ a, M1) ^ b, M2), where (a, b) are the
// round's keys and fold(x, m) is the high half of the 64-bit product x * m, xor the low half. A
// result outside [0, n) is mixed again until it falls inside; since 2^k < 2n that takes fewer than
// two steps on average.
//
// Rounds: 32 for k <= 8, 16 for k <= 16, else 10. Small numbers need more, as each round moves
// less; with these counts no test in tests/cpp/core/permutation_quality_test.cc tells the orders
// from uniformly random ones. Keys: bits32() of RandomStream(RandomKey(w0 | w1 << 32, n), stream),
// a then b, round by round, where w0, w1 are the words of RandomKey(seed, epoch).
#pragma once

#include <cstddef>
#include <cstdint>

#include "penstock/permutation.h"

namespace penstock::detail {

inline constexpr std::uint32_t kFeistelM1 = 0xD2511F53;
inline constexpr std::uint32_t kFeistelM2 = 0xCD9E8D57;

constexpr int low_bits(int bits) noexcept {
  return (bits + 1) / 2;
}
constexpr int high_bits(int bits) noexcept {
  return bits / 2;
}

constexpr int feistel_rounds(int bits) noexcept {
  return bits <= 8 ? 32 : bits <= 16 ? 16 : 10;
}

Feistel make_feistel(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch,
                     std::uint64_t stream) noexcept;

// One mixing step, and back.
std::uint64_t mix(const Feistel& feistel, std::uint64_t value) noexcept;
std::uint64_t unmix(const Feistel& feistel, std::uint64_t value) noexcept;

// mix() on each of `values`, in place, with the best instructions this CPU has.
void mix_many(const Feistel& feistel, std::uint64_t* values, std::size_t count) noexcept;

}  // namespace penstock::detail
