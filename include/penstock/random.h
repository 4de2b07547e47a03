// Random numbers that depend on where they are used, not on when: Philox4x32-10, a counter-based
// generator. The numbers of a row are a function of (seed, epoch, global position, ordinal of the
// random operation in the plan, draw), so threads share no generator and order does not matter.
//
// The sequence of every function here is part of Penstock's format: the same arguments give the
// same bits in every version and on every machine.
//
// Thread safety: plain values. A RandomStream costs nothing to make: let each row task make its
// own.
#pragma once

#include <array>
#include <cstdint>

namespace penstock {

// The block function: Philox4x32-10 as in Random123.
constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key) noexcept {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// (seed, epoch) pressed into Philox's 64 key bits. Made once per epoch, used by all its rows.
class RandomKey {
 public:
  constexpr RandomKey(std::uint64_t seed, std::uint64_t epoch) noexcept {
    const auto block = philox4x32(
        {static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(epoch >> 32), 0, 0},
        {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    words_ = {block[0], block[1]};
  }
  constexpr const std::array<std::uint32_t, 2>& words() const noexcept { return words_; }

 private:
  std::array<std::uint32_t, 2> words_;
};

// The numbers of one random operation on one row.
class RandomStream {
 public:
  constexpr RandomStream(const RandomKey& key, std::uint64_t position,
                         std::uint32_t operation = 0) noexcept
      : key_(key.words()),
        counter_{static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32),
                 operation, 0} {}

  // 32 and 64 uniform bits. A 64-bit draw is two 32-bit draws, low half first.
  constexpr std::uint32_t bits32() noexcept {
    if (used_ == 4) {
      block_ = philox4x32(counter_, key_);
      counter_[3] += 1;
      used_ = 0;
    }
    return block_[used_++];
  }
  constexpr std::uint64_t bits64() noexcept {
    const std::uint64_t low = bits32();
    return low | std::uint64_t{bits32()} << 32;
  }

  double uniform() noexcept {  // in [0, 1), 53 random bits
    return static_cast<double>(bits64() >> 11) * 0x1p-53;
  }
  // In [a, b]: b itself only if rounding makes it so, or if a == b.
  double uniform(double a, double b) noexcept;
  // An integer in [0, n), every one equally likely. below(0) is 0.
  std::uint64_t below(std::uint64_t n) noexcept;
  // Mean 0, standard deviation 1; always takes one 64-bit draw.
  double normal() noexcept;
  // True with probability p; p <= 0 is never, p >= 1 is always. Always takes one 64-bit draw.
  bool bernoulli(double p) noexcept { return uniform() < p; }

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  std::uint32_t used_ = 4;
};

}  // namespace penstock
