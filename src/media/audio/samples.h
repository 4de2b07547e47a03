// SampleBlock: decoded samples, a row a channel, that grows as they come.
//
// Thread safety: one thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "media/results.h"
#include "penstock/buffer.h"
#include "penstock/tensor.h"

namespace penstock::media {

class SampleBlock {
 public:
  static constexpr int kMostChannels = 64;

  SampleBlock(DType dtype, int channels) : dtype_(dtype), channels_(channels) {}

  std::int64_t size() const noexcept { return size_; }
  // Makes room for `more` samples behind those that are there, and says where; a pointer a channel.
  Result<std::array<std::uint8_t*, kMostChannels>> room(std::int64_t more) {
    if (size_ + more > capacity_) {
      if (Status grown = grow(std::max(size_ + more, capacity_ + capacity_ / 2)); !grown) {
        return std::move(grown).error();
      }
    }
    std::array<std::uint8_t*, kMostChannels> rows{};
    for (int c = 0; c < channels_; ++c) rows[std::size_t(c)] = row(c) + size_ * bytes();
    return rows;
  }
  void took(std::int64_t count) noexcept { size_ += count; }
  void cut(std::int64_t size) noexcept { size_ = std::min(size_, size); }
  Status reserve(std::int64_t samples) { return samples > capacity_ ? grow(samples) : Status(); }

  // channels x samples, without a gap between rows. The block is used up.
  Result<Tensor> take() {
    for (int c = 1; c < channels_ && size_ < capacity_; ++c) {
      std::memmove(base() + c * size_ * bytes(), row(c), std::size_t(size_ * bytes()));
    }
    if (!memory_.raw()) return Tensor::empty(dtype_, {channels_, 0});
    return Tensor::over(memory_.buffer(), dtype_, {channels_, size_});
  }

 private:
  std::int64_t bytes() const noexcept { return std::int64_t(size_of(dtype_)); }
  std::uint8_t* base() const noexcept { return reinterpret_cast<std::uint8_t*>(memory_.raw()); }
  std::uint8_t* row(int channel) const noexcept { return base() + channel * capacity_ * bytes(); }

  Status grow(std::int64_t capacity) {
    Result<Tensor> made = Tensor::empty(result_pool(), dtype_, {channels_, capacity});
    if (!made) return std::move(made).error();
    auto* const to = reinterpret_cast<std::uint8_t*>(made->raw());
    for (int c = 0; c < channels_ && size_ > 0; ++c) {
      std::memcpy(to + c * capacity * bytes(), row(c), std::size_t(size_ * bytes()));
    }
    memory_ = *std::move(made);
    capacity_ = capacity;
    return {};
  }

  DType dtype_;
  int channels_;
  Tensor memory_;
  std::int64_t size_ = 0, capacity_ = 0;
};

}  // namespace penstock::media
