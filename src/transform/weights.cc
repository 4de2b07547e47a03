#include "transform/weights.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// Each kernel has its support (half width at scale 1) and its value at x. They are Pillow's
// definitions, single-precision constants of the Hamming window included.
constexpr double pi = 3.14159265358979323846;

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= pi;
  return std::sin(x) / x;
}

struct BoxKernel {
  static constexpr double support = 0.5;
  double operator()(double x) const { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }
};

struct BilinearKernel {
  static constexpr double support = 1.0;
  double operator()(double x) const {
    x = std::fabs(x);
    return std::max(1.0 - x, 0.0);
  }
};

struct HammingKernel {
  static constexpr double support = 1.0;
  double operator()(double x) const {
    x = std::fabs(x);
    if (x == 0.0) return 1.0;
    if (x >= 1.0) return 0.0;
    x *= pi;
    return std::sin(x) / x * (double{0.54f} + double{0.46f} * std::cos(x));
  }
};

struct BicubicKernel {
  static constexpr double support = 2.0;
  double operator()(double x) const {
    constexpr double a = -0.5;
    x = std::fabs(x);
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
    return 0.0;
  }
};

struct LanczosKernel {
  static constexpr double support = 3.0;
  double operator()(double x) const { return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0; }
};

std::int32_t to_fixed(double weight) {
  return static_cast<std::int32_t>(weight * (1 << weight_bits) + std::copysign(0.5, weight));
}

}  // namespace

// Outputs are computed a block at a time, each step for the whole block: the compiler then uses
// vectors, and the branch on the number of taps, which changes from output to output, is gone. The
// order of operations for one output is Pillow's.
template <class Kernel>
void AxisWeights::fill(const Kernel& kernel, std::int64_t src, float from, float to,
                       std::int64_t out, std::int64_t keep_from) {
  const double scale = static_cast<double>(to - from) / static_cast<double>(out);
  const double widen = std::max(scale, 1.0);
  const double support = Kernel::support * widen;
  const double shrink = 1.0 / widen;
  const auto source_end = static_cast<std::int32_t>(src);

  const auto widest = static_cast<std::int64_t>(std::ceil(support)) * 2 + 1;
  stride_ = (std::min(widest, src) + 1) / 2 * 2;
  spans_.reserve(static_cast<std::size_t>(size_));
  taps_.reserve(static_cast<std::size_t>(size_ * stride_));
  pairs_.reserve(static_cast<std::size_t>(size_ * stride_ / 2));
  constexpr std::int64_t block = 32;
  double* exact = exact_.reserve(static_cast<std::size_t>(stride_ * block));
  std::int32_t* fixed = fixed_.reserve(static_cast<std::size_t>(stride_ * block));

  max_count_ = 0;
  lowest_ = source_end;
  end_ = 0;
  for (std::int64_t begin = 0; begin < size_; begin += block) {
    double centre[block];
    double sum[block];
    std::int32_t first[block];
    std::int32_t count[block];
    std::int32_t most = 0;
    for (std::int64_t i = 0; i < block; ++i) {
      centre[i] = from + (static_cast<double>(keep_from + begin + i) + 0.5) * scale;
      first[i] = std::max(static_cast<std::int32_t>(centre[i] - support + 0.5), 0);
      const auto last = std::min(static_cast<std::int32_t>(centre[i] + support + 0.5), source_end);
      count[i] = std::max(last - first[i], 0);
      sum[i] = 0.0;
    }
    const std::int64_t used = std::min(block, size_ - begin);
    for (std::int64_t i = 0; i < used; ++i) most = std::max(most, count[i]);
    for (std::int32_t t = 0; t < most; ++t) {
      double* weights = exact + t * block;
      for (std::int64_t i = 0; i < block; ++i) {
        const double weight = kernel((t + first[i] - centre[i] + 0.5) * shrink);
        weights[i] = t < count[i] ? weight : 0.0;
        sum[i] += weights[i];
      }
    }
    for (std::int64_t i = 0; i < block; ++i) sum[i] = sum[i] == 0.0 ? 1.0 : sum[i];
    const std::int32_t padded = (most + 1) / 2 * 2;
    for (std::int32_t t = 0; t < most; ++t) {
      for (std::int64_t i = 0; i < block; ++i)
        fixed[t * block + i] = to_fixed(exact[t * block + i] / sum[i]);
    }
    if (padded > most) std::fill_n(fixed + most * block, block, 0);
    for (std::int64_t i = 0; i < used; ++i) {
      std::int32_t* taps = taps_.data() + (begin + i) * stride_;
      SplitPair* pairs = pairs_.data() + (begin + i) * (stride_ / 2);
      for (std::int32_t t = 0; t < padded; t += 2) {
        taps[t] = fixed[t * block + i];
        taps[t + 1] = fixed[(t + 1) * block + i];
        pairs[t / 2] = SplitPair::of(taps[t], taps[t + 1]);
      }
      for (std::int64_t t = padded; t < stride_; t += 2) {
        taps[t] = taps[t + 1] = 0;
        pairs[t / 2] = {0, 0};
      }
      spans_[begin + i] = {first[i], count[i]};
      if (count[i] > 0) {
        lowest_ = std::min(lowest_, first[i]);
        end_ = std::max(end_, first[i] + count[i]);
      }
    }
    max_count_ = std::max(max_count_, most);
  }
  if (lowest_ >= end_) lowest_ = 0, end_ = 1;  // no output has a tap: keep the hull a valid range
}

void AxisWeights::compute(std::int64_t src, float from, float to, std::int64_t out,
                          std::int64_t keep_from, std::int64_t keep, Filter filter) {
  const Axis asked{src, from, to, out, keep_from, keep, filter};
  if (asked == made_) return;
  made_ = {};
  size_ = keep;
  switch (filter) {
    case Filter::box:
      fill(BoxKernel{}, src, from, to, out, keep_from);
      break;
    case Filter::nearest:
    case Filter::bilinear:
      fill(BilinearKernel{}, src, from, to, out, keep_from);
      break;
    case Filter::hamming:
      fill(HammingKernel{}, src, from, to, out, keep_from);
      break;
    case Filter::bicubic:
      fill(BicubicKernel{}, src, from, to, out, keep_from);
      break;
    case Filter::lanczos:
      fill(LanczosKernel{}, src, from, to, out, keep_from);
      break;
  }
  made_ = asked;  // unless it threw for want of memory
}

}  // namespace penstock
