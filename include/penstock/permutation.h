// Permutation: a keyed shuffle of [0, n) by arithmetic, for any n up to 2^63.
//
// permute(i) is the i-th element of the shuffled order. It takes constant time and no memory that
// grows with n: a billion samples are shuffled as fast as ten. invert(permute(i)) == i for every i.
// The order is keyed by (seed, epoch, stream) and by n: changing any of them gives an unrelated
// order. `stream` tells apart permutations of one epoch: those of blocks, of each window, of a mix.
//
// The mapping is part of Penstock's format: the same arguments give the same order in every version
// and on every machine, or tokens and caches of old runs would lose their meaning. How it is
// computed is written down in src/core/feistel.h.
//
// Thread safety: an immutable value; any thread may use it.
#pragma once

#include <cstdint>
#include <span>

#include "penstock/error.h"

namespace penstock {

namespace detail {
// An invertible mixing of `bits`-bit numbers.
struct Feistel {
  static constexpr int max_rounds = 32;
  struct RoundKey {
    std::uint32_t a, b;
  };
  int bits = 0;
  int rounds = 0;
  RoundKey keys[max_rounds] = {};
};
}  // namespace detail

class Permutation {
 public:
  static constexpr std::uint64_t max_size = std::uint64_t{1} << 63;

  // Fails with invalid_argument unless 1 <= n <= max_size.
  static Result<Permutation> make(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch = 0,
                                  std::uint64_t stream = 0);

  std::uint64_t size() const noexcept { return n_; }

  // Numbers outside [0, n) map to themselves.
  std::uint64_t permute(std::uint64_t i) const noexcept;
  std::uint64_t invert(std::uint64_t i) const noexcept;

  // out[j] = permute(start + j), and permute(start + j * stride): many at once, with SIMD.
  // Fails with out_of_range, and writes nothing, if a position lies beyond the end.
  Status fill(std::uint64_t start, std::span<std::uint64_t> out) const;
  Status fill_strided(std::uint64_t start, std::uint64_t stride,
                      std::span<std::uint64_t> out) const;

 private:
  Permutation(std::uint64_t n, detail::Feistel feistel) noexcept : n_(n), feistel_(feistel) {}

  std::uint64_t n_;
  detail::Feistel feistel_;
};

}  // namespace penstock
