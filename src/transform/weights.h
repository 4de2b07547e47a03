// The taps of an antialiased resize along one axis, equal to Pillow's to the last bit.
//
// Output i is the sum of weight * source over `count` neighbouring source pixels from `first`, with
// weights in fixed point of 22 bits. Everything is computed in double in Pillow's order of
// operations, because the fixed-point result depends on it.
//
// Thread safety: one thread at a time per AxisWeights.
#pragma once

#include <cstdint>

#include "penstock/image.h"
#include "transform/scratch.h"

namespace penstock {

inline constexpr int weight_bits = 32 - 8 - 2;
inline constexpr std::int32_t weight_half = 1 << (weight_bits - 1);

// Two weights as the 16-bit halves of one word, once their low 15 bits and once the rest; see
// resample_kernels.h for why.
struct SplitPair {
  std::int32_t lo;
  std::int32_t hi;

  static SplitPair of(std::int32_t a, std::int32_t b) {
    return {(a & 0x7fff) | ((b & 0x7fff) << 16),
            static_cast<std::int32_t>((static_cast<std::uint32_t>(a >> 15) & 0xffff) |
                                      (static_cast<std::uint32_t>(b >> 15) << 16))};
  }
};

class AxisWeights {
 public:
  // Taps of outputs keep_from .. keep_from + keep - 1 of an axis that maps [from, to] of `src`
  // pixels onto `out` pixels. The arguments must have been checked; filter is not nearest. Asked
  // for the same again, as by a batch of pictures of one size, it has them already.
  void compute(std::int64_t src, float from, float to, std::int64_t out, std::int64_t keep_from,
               std::int64_t keep, Filter filter);

  std::int64_t size() const { return size_; }
  std::int32_t first(std::int64_t i) const { return spans_[i].first; }
  std::int32_t count(std::int64_t i) const { return spans_[i].count; }
  const std::int32_t* taps(std::int64_t i) const { return taps_.data() + i * stride_; }
  // The taps again in pairs; zeros follow, up to max_count() taps.
  const SplitPair* pairs(std::int64_t i) const { return pairs_.data() + i * (stride_ / 2); }

  // The largest count, and the hull of all taps: [lowest, end).
  std::int32_t max_count() const { return max_count_; }
  std::int32_t lowest() const { return lowest_; }
  std::int32_t end() const { return end_; }

 private:
  struct Span {
    std::int32_t first;
    std::int32_t count;
  };

  // What compute() was asked for.
  struct Axis {
    std::int64_t src = 0;
    float from = 0, to = 0;
    std::int64_t out = 0, keep_from = 0, keep = 0;
    Filter filter = Filter::nearest;
    bool operator==(const Axis&) const = default;
  };

  template <class Kernel>
  void fill(const Kernel& kernel, std::int64_t src, float from, float to, std::int64_t out,
            std::int64_t keep_from);

  Axis made_;  // with `out` 0: nothing
  std::int64_t size_ = 0;
  std::int64_t stride_ = 0;  // even
  std::int32_t max_count_ = 0;
  std::int32_t lowest_ = 0;
  std::int32_t end_ = 0;
  Scratch<Span> spans_;
  Scratch<std::int32_t> taps_;
  Scratch<SplitPair> pairs_;
  Scratch<double> exact_;
  Scratch<std::int32_t> fixed_;
};

}  // namespace penstock
