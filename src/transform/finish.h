// The last pass over an image: each row of 8-bit pixels goes into its place in the batch, in its
// final layout and type, normalised and mirrored on the way.
//
// Floating point values are x * scale[c] + bias[c] for a byte x of channel c: product and sum are
// each rounded to float32 (never fused), then float16 rounds once more, to nearest even. Every
// instruction set gives the same bits. normalised() fills scale and bias so that the value is
// (x / 255 - mean) / std, as torchvision's ToTensor and Normalize define it.
//
// Thread safety: a FinishSpec is a plain value; finish_row may run for distinct rows at once. One
// thread at a time per FinishSink.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "penstock/dtype.h"
#include "penstock/error.h"
#include "penstock/image.h"
#include "transform/resample.h"

namespace penstock {

enum class ImageLayout : std::uint8_t { hwc, chw };

struct FinishSpec {
  std::int64_t height = 0;
  std::int64_t width = 0;
  int channels = 3;  // 1 to 4
  ImageLayout layout = ImageLayout::hwc;
  DType type = DType::uint8;  // or float32, float16
  bool mirror = false;
  // For floating types only: bytes stay as they are.
  std::array<float, 4> scale = {1, 1, 1, 1};
  std::array<float, 4> bias = {0, 0, 0, 0};

  // Bytes of one finished image, which is contiguous.
  std::size_t bytes() const;
};

// Error: invalid_argument, naming the argument.
Status check(const FinishSpec& spec);

// Sets scale and bias from a mean and a standard deviation per channel, in units of 0..1; one value
// serves all channels. scale = 1 / (255 * std), bias = -mean / std, in double, then rounded.
Status normalise(FinishSpec& spec, std::span<const double> mean, std::span<const double> std);

// Writes row y. The spec must have passed check(); `image` has spec.bytes() bytes, aligned to its
// type.
void finish_row(const FinishSpec& spec, const std::uint8_t* row, std::int64_t y, void* image);

// Takes the resampler's rows straight into the batch. Rows that need no change are written in place
// by the resampler itself.
class FinishSink final : public RowSink {
 public:
  FinishSink(const FinishSpec& spec, void* image) : spec_(spec), image_(image) {}
  std::uint8_t* place(std::int64_t y) override;
  void take(std::int64_t y, const std::uint8_t* row) override;

 private:
  bool in_place() const;

  FinishSpec spec_;
  void* image_;
};

}  // namespace penstock
