// A decoded frame as a Picture, and as interleaved pixels by libswscale.
#pragma once

#include <vector>

#include "media/av/av.h"
#include "media/av/ffmpeg/headers.h"

namespace penstock::media::av {

Picture picture_of(const AVFrame& frame, bool damaged);

// Keeps libswscale's tables from frame to frame, and from clip to clip. Thread safety: one thread
// at a time.
class PixelConverter {
 public:
  Status convert(const AVFrame& frame, PixelMode mode, std::uint8_t* out, std::ptrdiff_t row_bytes);

 private:
  Status prepare(const AVFrame& frame, AVPixelFormat to);

  SwsPtr context_;
  int width_ = 0, height_ = 0, from_ = -1, to_ = -1, matrix_ = -1, range_ = -1;
  std::vector<std::uint8_t> padded_;
};

// That of the calling thread.
PixelConverter& pixel_converter();

}  // namespace penstock::media::av
