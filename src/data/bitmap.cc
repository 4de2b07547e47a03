#include "data/bitmap.h"

#include <algorithm>
#include <bit>

namespace penstock::data {

Bitmap::Bitmap(std::vector<std::uint64_t> words, std::uint64_t size)
    : words_(std::move(words)), size_(size) {
  words_.resize((size + 63) / 64);
  if (size % 64 != 0) words_.back() &= (std::uint64_t{1} << (size % 64)) - 1;
  before_.reserve(words_.size() / kGroup + 2);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (i % kGroup == 0) before_.push_back(count);
    count += static_cast<std::uint64_t>(std::popcount(words_[i]));
  }
  before_.push_back(count);
}

std::uint64_t Bitmap::rank(std::uint64_t i) const noexcept {
  if (i >= size_) return count();
  const std::size_t word = i / 64;
  std::uint64_t count = before_[word / kGroup];
  for (std::size_t w = word / kGroup * kGroup; w < word; ++w) {
    count += static_cast<std::uint64_t>(std::popcount(words_[w]));
  }
  const std::uint64_t below = words_[word] & ((std::uint64_t{1} << (i % 64)) - 1);
  return count + static_cast<std::uint64_t>(std::popcount(below));
}

std::uint64_t Bitmap::select(std::uint64_t k) const noexcept {
  // The last group with at most k set bits before it.
  const auto after = std::upper_bound(before_.begin(), before_.end() - 1, k);
  const auto group = static_cast<std::size_t>(after - before_.begin()) - 1;
  std::uint64_t left = k - before_[group];
  std::size_t word = group * kGroup;
  for (;; ++word) {
    const auto here = static_cast<std::uint64_t>(std::popcount(words_[word]));
    if (left < here) break;
    left -= here;
  }
  std::uint64_t bits = words_[word];
  for (; left > 0; --left) bits &= bits - 1;
  return word * 64 + static_cast<std::uint64_t>(std::countr_zero(bits));
}

}  // namespace penstock::data
