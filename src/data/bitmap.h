// Bitmap: one bit per record, with the place of the k-th set bit in a few steps.
//
// Besides the bits it keeps one number per 512 of them.
//
// Thread safety: immutable once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::data {

class Bitmap {
 public:
  // Bit i is bit i % 64 of words[i / 64]. Bits from `size` on are ignored.
  Bitmap(std::vector<std::uint64_t> words, std::uint64_t size);

  std::uint64_t size() const noexcept { return size_; }
  std::uint64_t count() const noexcept { return before_.back(); }  // set bits
  bool operator[](std::uint64_t i) const noexcept { return words_[i / 64] >> (i % 64) & 1; }
  std::uint64_t rank(std::uint64_t i) const noexcept;    // set bits below i
  std::uint64_t select(std::uint64_t k) const noexcept;  // the k-th set bit; k < count()
  const std::vector<std::uint64_t>& words() const noexcept { return words_; }

 private:
  static constexpr std::size_t kGroup = 8;  // words
  std::vector<std::uint64_t> words_;
  std::uint64_t size_;
  std::vector<std::uint64_t> before_;  // set bits before each group, and in all
};

}  // namespace penstock::data
