// RealFft: the discrete Fourier transform of real signals of any length, kLanes of them at a time.
//
// Lengths are taken apart into factors 4, 2, 3, 5 and whatever primes are left; the work grows with
// the sum of the factors, so a length with a large prime in it is slow and right. All is double
// precision: what is quiet beside a loud tone is as right as the tone.
//
// Thread safety: never changes once made; each run has memory of its own.
#pragma once

#include <cstddef>
#include <vector>

#include "transform/fft_kernels.h"

namespace penstock {

class RealFft {
 public:
  static constexpr std::size_t kLanes = kFftLanes;  // signals side by side

  explicit RealFft(std::size_t length);  // 1 or more

  std::size_t length() const noexcept { return length_; }
  std::size_t bins() const noexcept { return length_ / 2 + 1; }
  // Numbers that `work` must have room for.
  std::size_t work_size() const noexcept { return 4 * half_ * kLanes; }

  // Where value `i` of the signals goes in `work`: kLanes numbers from there on.
  std::size_t place_of(std::size_t i) const noexcept {
    if (length_ % 2 != 0) return i * kLanes;
    return (i / 2 + i % 2 * half_) * kLanes;
  }
  // `work` has the signals, and is used up; `re` and `im` get bins() numbers each, times kLanes.
  void run(double* work, double* re, double* im) const;

 private:
  std::size_t length_;
  std::size_t half_;  // points of the complex transform: half the length where that is even
  std::vector<FftPass> passes_;
  std::vector<double> turns_;  // cos and sin of the last step, for even lengths
};

}  // namespace penstock
