// Stockham's transform: results come out in their order.
#include "transform/fft.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace penstock {
namespace {

std::vector<std::size_t> factors_of(std::size_t n) {
  std::vector<std::size_t> factors;
  for (const std::size_t p : {4, 2, 3, 5}) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  }
  for (std::size_t p = 7; p * p <= n; p += 2) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  }
  if (n > 1) factors.push_back(n);
  return factors;
}

// The k-th of n parts of a circle, backwards.
void push_turn(std::vector<double>& turns, std::size_t k, std::size_t n) {
  const double angle = -2.0 * std::numbers::pi * double(k % n) / double(n);
  turns.push_back(std::cos(angle));
  turns.push_back(std::sin(angle));
}

}  // namespace

RealFft::RealFft(std::size_t length)
    : length_(length), half_(length % 2 == 0 ? length / 2 : length) {
  std::size_t left = half_, stride = 1;
  for (const std::size_t radix : factors_of(half_)) {
    FftPass pass{radix, stride, left / radix, {}, {}};
    pass.turns.reserve(2 * (radix - 1) * pass.rest);
    for (std::size_t k = 0; k < pass.rest; ++k) {
      for (std::size_t u = 1; u < radix; ++u) push_turn(pass.turns, k * u, left);
    }
    for (std::size_t t = 0; t < radix; ++t) push_turn(pass.roots, t, radix);
    passes_.push_back(std::move(pass));
    left /= radix, stride *= radix;
  }
  if (length_ % 2 != 0) return;
  for (std::size_t k = 0; k <= half_; ++k) push_turn(turns_, k, length_);
}

void RealFft::run(double* work, double* re, double* im) const {
  const std::size_t points = half_ * kLanes;
  double *from_re = work, *from_im = work + points;
  double *to_re = work + 2 * points, *to_im = work + 3 * points;
  const bool even = length_ % 2 == 0;
  if (!even) std::fill_n(from_im, points, 0.0);
  for (const FftPass& one : passes_) {
    fft_pass(one, {from_re, from_im, to_re, to_im});
    std::swap(from_re, to_re), std::swap(from_im, to_im);
  }
  if (even) return fft_split(half_, turns_.data(), {from_re, from_im, re, im});
  std::copy_n(from_re, bins() * kLanes, re);
  std::copy_n(from_im, bins() * kLanes, im);
}

}  // namespace penstock
