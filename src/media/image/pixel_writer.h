// PixelWriter: where a codec puts its rows.
//
// A codec says once what it will deliver (begin), then fills rows in any order: row(y) gives the
// memory for native row y, commit(y) turns it into the mode asked for. Where nothing is to convert,
// row(y) is the caller's own memory and commit costs nothing.
//
// Thread safety: one thread; holds the thread's `line` scratch while it lives.
#pragma once

#include <cstdint>
#include <optional>

#include "media/image/pixel_rows.h"
#include "media/image/scratch.h"
#include "penstock/media.h"

namespace penstock::media {

// Error: PixelMode::index of what has neither a palette nor 8-bit grey.
Status check_indices(PixelMode mode, Native native);

class PixelWriter {
 public:
  PixelWriter(PixelMode mode, PixelTarget& target) : mode_(mode), target_(target) {}

  PixelMode mode() const { return mode_; }

  // The size has been checked against max_pixels by the codec.
  Status begin(std::int64_t width, std::int64_t height, Native native);

  std::uint8_t* row(std::int64_t y) {
    return direct() ? memory_.data + y * memory_.row_bytes : line_->data();
  }
  void commit(std::int64_t y) {
    if (!direct()) convert(y);
  }

  // True if rows go straight to the caller's memory.
  bool direct() const { return !line_.has_value(); }
  PixelMemory memory() const { return memory_; }
  const ImageShape& shape() const { return shape_; }

 private:
  void convert(std::int64_t y);

  PixelMode mode_;
  PixelTarget& target_;
  Native native_ = Native::rgb;
  ImageShape shape_;
  PixelMemory memory_;
  std::optional<ScratchLease> line_;
};

}  // namespace penstock::media
