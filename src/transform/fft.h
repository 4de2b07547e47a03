// RealFft: the discrete Fourier transform of real signals of any length, kLanes of them at a time.
//
// Lengths are taken apart into factors 4, 2, 3, 5 and whatever primes are left; the work grows with
// the sum of the factors, so a length with a large prime in it is slow and right. Tables are made
// in double precision, sums in float: the error is some 1e-7 of the largest value.
//
// Thread safety: never changes once made; each run has memory of its own.
#pragma once

#include <cstddef>
#include <vector>

namespace penstock {

class RealFft {
 public:
  static constexpr std::size_t kLanes = 8;  // signals side by side: value i of lane l at i * 8 + l

  explicit RealFft(std::size_t length);  // 1 or more

  std::size_t length() const noexcept { return length_; }
  std::size_t bins() const noexcept { return length_ / 2 + 1; }
  // Floats that `work` must have room for.
  std::size_t work_size() const noexcept { return 4 * half_ * kLanes; }

  // `in` has length() values, `re` and `im` get bins() each, all times kLanes.
  void run(const float* in, float* re, float* im, float* work) const;

 private:
  struct Pass {
    std::size_t radix = 1, stride = 1, rest = 1;
    std::vector<float> turns;   // cos and sin for each output but the first, of each position
    std::vector<double> roots;  // cos and sin of the radix-th parts of a circle
  };
  static void pass(const Pass& pass, const float* in_re, const float* in_im, float* out_re,
                   float* out_im);

  std::size_t length_;
  std::size_t half_;  // points of the complex transform: half the length where that is even
  std::vector<Pass> passes_;
  std::vector<float> cos_, sin_;  // of the last step, for even lengths
};

}  // namespace penstock
