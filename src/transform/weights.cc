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
    return x < 1.0 ? 1.0 - x : 0.0;
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
  const double scaled = weight * (1 << weight_bits);
  return static_cast<std::int32_t>(weight < 0 ? -0.5 + scaled : 0.5 + scaled);
}

}  // namespace

template <class Kernel>
void AxisWeights::fill(const Kernel& kernel, std::int64_t src, float from, float to,
                       std::int64_t out, std::int64_t keep_from) {
  const double scale = static_cast<double>(to - from) / static_cast<double>(out);
  const double widen = std::max(scale, 1.0);
  const double support = Kernel::support * widen;
  const double shrink = 1.0 / widen;
  const auto source_end = static_cast<std::int32_t>(src);

  stride_ = std::min<std::int64_t>(static_cast<std::int64_t>(std::ceil(support)) * 2 + 1, src);
  spans_.reserve(static_cast<std::size_t>(size_));
  taps_.reserve(static_cast<std::size_t>(size_ * stride_));
  double* exact = exact_.reserve(static_cast<std::size_t>(stride_));

  max_count_ = 0;
  lowest_ = source_end;
  end_ = 0;
  for (std::int64_t i = 0; i < size_; ++i) {
    const double centre = from + (static_cast<double>(keep_from + i) + 0.5) * scale;
    const auto first = std::max(static_cast<std::int32_t>(centre - support + 0.5), 0);
    const auto last = std::min(static_cast<std::int32_t>(centre + support + 0.5), source_end);
    const auto count =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(std::int64_t{last} - first, 0, stride_));
    double sum = 0.0;
    for (std::int32_t t = 0; t < count; ++t) {
      exact[t] = kernel((t + first - centre + 0.5) * shrink);
      sum += exact[t];
    }
    std::int32_t* taps = taps_.data() + i * stride_;
    if (sum == 0.0) sum = 1.0;  // nothing to normalise
    for (std::int32_t t = 0; t < count; ++t) taps[t] = to_fixed(exact[t] / sum);
    spans_[i] = {first, count};
    max_count_ = std::max(max_count_, count);
    if (count > 0) {
      lowest_ = std::min(lowest_, first);
      end_ = std::max(end_, first + count);
    }
  }
  if (lowest_ >= end_) lowest_ = 0, end_ = 1;  // no output has a tap: keep the hull a valid range
}

void AxisWeights::compute(std::int64_t src, float from, float to, std::int64_t out,
                          std::int64_t keep_from, std::int64_t keep, Filter filter) {
  size_ = keep;
  switch (filter) {
    case Filter::box:
      return fill(BoxKernel{}, src, from, to, out, keep_from);
    case Filter::nearest:
    case Filter::bilinear:
      return fill(BilinearKernel{}, src, from, to, out, keep_from);
    case Filter::hamming:
      return fill(HammingKernel{}, src, from, to, out, keep_from);
    case Filter::bicubic:
      return fill(BicubicKernel{}, src, from, to, out, keep_from);
    case Filter::lanczos:
      return fill(LanczosKernel{}, src, from, to, out, keep_from);
  }
}

}  // namespace penstock
