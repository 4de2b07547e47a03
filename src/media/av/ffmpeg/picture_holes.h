// Pictures that a decoder leaves unfinished without a word. FFmpeg's decoder of HEVC believes
// damaged bits that say that a slice ends; what the slice should have filled then shows what was in
// memory before: another picture, or another clip.
//
// Before a picture is decoded some bytes of each block of 64 x 64 are given values that hardly any
// picture has there. Those that have kept them were not decoded.
//
// Thread safety: one thread at a time; of a decoder with one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "media/av/ffmpeg/headers.h"

namespace penstock::media::av {

class PictureHoles {
 public:
  // Watches this decoder, which must not decode when this is gone.
  void watch(AVCodecContext& context);
  // From now on memory is cleared before a picture is decoded.
  void clear_first() noexcept { clears_ = true; }
  // Has a picture that was begun since this was last asked holes? To be asked when all that was
  // sent is decoded.
  bool found();

 private:
  struct BufferFree {
    void operator()(AVBufferRef* buffer) const noexcept { av_buffer_unref(&buffer); }
  };
  struct Luma {
    std::unique_ptr<AVBufferRef, BufferFree> keeps;
    std::uint8_t* data = nullptr;
    std::ptrdiff_t row_bytes = 0;
    int width = 0, height = 0;  // in bytes, and in rows
    int pixel = 1;              // bytes
  };

  static int get_buffer(AVCodecContext* context, AVFrame* frame, int flags);
  void begin(const AVFrame& frame);

  std::vector<Luma> begun_;
  bool clears_ = false;
};

}  // namespace penstock::media::av
