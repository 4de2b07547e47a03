// The inner loops of RealFft, for every instruction set. Sums are the same bits on all of them.
//
// Value i of lane l is at i * kFftLanes + l, everywhere.
#pragma once

#include <cstddef>
#include <vector>

namespace penstock {

inline constexpr std::size_t kFftLanes = 8;

// One pass of Stockham's transform: reads one block of memory and writes another.
struct FftPass {
  std::size_t radix = 1, stride = 1, rest = 1;
  std::vector<double> turns;  // cos and sin for each output but the first, of each position
  std::vector<double> roots;  // cos and sin of the radix-th parts of a circle
};

// What memory a pass goes from and to: real and imaginary parts.
struct FftBlocks {
  const double *in_re, *in_im;
  double *out_re, *out_im;
};

void fft_pass(const FftPass& pass, const FftBlocks& blocks);

// The even and the odd values of real signals were taken for complex ones of `half` points; here
// they become the half + 1 bins of the signals. `turns` has cos and sin of each.
void fft_split(std::size_t half, const double* turns, const FftBlocks& blocks);

}  // namespace penstock
