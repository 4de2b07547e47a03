// The two inner loops of the resampler, compiled for every instruction set and chosen at run time.
//
// Exactness: a weight w of up to 24 bits is split as w = hi * 2^15 + lo, both of which fit 16 bits,
// so the processor's 16-bit multiply-and-add-pairs computes sum(pixel * w) for two taps at a time
// with nothing lost. Sums wrap modulo 2^32, as the plain 32-bit sum would; every instruction set
// gives the same bytes.
//
// Thread safety: one thread at a time per plan.
#pragma once

#include <cstdint>

#include "transform/scratch.h"
#include "transform/weights.h"

namespace penstock {

// Output rows written by run() may be written up to this many bytes past their end, and rows read
// by resample_rows() are read as far.
inline constexpr std::int64_t row_padding = 256;

// A horizontal pass for one set of weights, laid out for the vectors of one instruction set.
struct HorizontalPlan {
  // Resamples one source row, which starts at the pixel weights.lowest(), into `out`.
  void run(const std::uint8_t* row, std::uint8_t* out);

  // Steps [from, to) of a row.
  using Steps = void(const HorizontalPlan&, const std::uint8_t* row, std::int64_t from,
                     std::int64_t to, std::uint8_t* out);
  Steps* run_steps = nullptr;
  int channels = 0;
  int pairs = 0;                  // pairs of taps per output pixel, as many as the largest needs
  std::int64_t steps = 0;         // vector steps per row
  std::int64_t step_offsets = 0;  // offsets per step
  std::int64_t reach = 0;         // bytes read from an offset on
  std::int64_t row_bytes = 0;     // readable bytes of a source row
  std::int64_t risky_from = 0;    // steps that would read past the row: [risky_from, risky_to)
  std::int64_t risky_to = 0;
  std::int64_t tail_from = 0;      // first byte of the row that risky steps need
  Scratch<std::uint8_t> shuffles;  // which bytes of a window go where
  Scratch<std::int32_t> offsets;   // byte offset of each output's first tap
  Scratch<std::int32_t> table;     // weights, two to a word, replicated to the lanes that use them
  Scratch<std::uint8_t> tail;      // the end of the row again, with room behind it
};

void plan_horizontal(const AxisWeights& weights, int channels, bool mirror, HorizontalPlan& plan);

// out[i] = sum over rows of rows[t][i] * weight t, rounded and clipped, for i in [0, bytes); the
// weights come in (count + 1) / 2 pairs. If count is odd, rows[count] is a row, too, whose weight
// is 0. Reads the rows with padding; writes exactly `bytes`.
void resample_rows(const std::uint8_t* const* rows, const SplitPair* pairs, std::int32_t count,
                   std::int64_t bytes, std::uint8_t* out);

// A word for the instruction set in use, for reports: "AVX2".
const char* resample_target();

}  // namespace penstock
