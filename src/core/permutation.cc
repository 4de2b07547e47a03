#include "penstock/permutation.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/feistel.h"

namespace penstock {
namespace {

constexpr std::size_t kChunk = 512;  // 4 KB of numbers: stays in the first cache

// Mixes the numbers of a chunk until all are below n. Stragglers are collected and mixed together,
// so that no vector waits for its slowest lane.
void walk_chunk(const detail::Feistel& feistel, std::uint64_t n, std::span<std::uint64_t> values) {
  detail::mix_many(feistel, values.data(), values.size());
  std::array<std::uint16_t, kChunk> slots;
  std::array<std::uint64_t, kChunk> stragglers;
  std::size_t count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    slots[count] = static_cast<std::uint16_t>(i);
    stragglers[count] = values[i];
    count += values[i] >= n ? 1 : 0;
  }
  while (count > 0) {
    detail::mix_many(feistel, stragglers.data(), count);
    std::size_t still = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t value = stragglers[i];
      values[slots[i]] = value;
      slots[still] = slots[i];
      stragglers[still] = value;
      still += value >= n ? 1 : 0;
    }
    count = still;
  }
}

}  // namespace

Result<Permutation> Permutation::make(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch,
                                      std::uint64_t stream) {
  if (n < 1 || n > max_size) {
    return Error(Code::invalid_argument,
                 "n must be from 1 to 2^63 for a permutation, not " + std::to_string(n));
  }
  return Permutation(n, detail::make_feistel(n, seed, epoch, stream));
}

std::uint64_t Permutation::permute(std::uint64_t i) const noexcept {
  if (i >= n_) return i;
  do i = detail::mix(feistel_, i);
  while (i >= n_);
  return i;
}

std::uint64_t Permutation::invert(std::uint64_t i) const noexcept {
  if (i >= n_) return i;
  do i = detail::unmix(feistel_, i);
  while (i >= n_);
  return i;
}

Status Permutation::fill(std::uint64_t start, std::span<std::uint64_t> out) const {
  return fill_strided(start, 1, out);
}

Status Permutation::fill_strided(std::uint64_t start, std::uint64_t stride,
                                 std::span<std::uint64_t> out) const {
  if (out.empty()) return {};
  const std::uint64_t steps = out.size() - 1;
  const bool inside =
      start < n_ && (steps == 0 || stride == 0 || steps <= (n_ - 1 - start) / stride);
  if (!inside) {
    return Error(Code::out_of_range, std::to_string(out.size()) + " positions from start " +
                                         std::to_string(start) + " by stride " +
                                         std::to_string(stride) +
                                         " pass the end of a permutation of " + std::to_string(n_));
  }
  std::uint64_t position = start;
  for (std::size_t done = 0; done < out.size(); done += kChunk) {
    const auto chunk = out.subspan(done, std::min(kChunk, out.size() - done));
    for (std::uint64_t& value : chunk) {
      value = position;
      position += stride;
    }
    walk_chunk(feistel_, n_, chunk);
  }
  return {};
}

}  // namespace penstock
