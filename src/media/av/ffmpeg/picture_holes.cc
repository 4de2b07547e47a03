#include "media/av/ffmpeg/picture_holes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace penstock::media::av {
namespace {

constexpr std::array<std::uint8_t, 8> kMark = {0x5A, 0xC3, 0x17, 0xE8, 0x39, 0x94, 0xDB, 0x06};
constexpr int kBlock = 64;
// Filters change what is less than four pixels away from the next block, which may be of 16 x 16.
constexpr int kInside = 36, kFromEdge = 12;

// Where the mark of the block that begins at `block` is; negative: there is no room for it.
int place_of(int block, int pixel, int size) {
  return std::min((block + kInside) * pixel, size - kFromEdge * pixel);
}

// Shows `visit` each mark of a picture, until it answers that it has seen enough: false.
template <class Visit>
void each_mark(std::uint8_t* data, std::ptrdiff_t row_bytes, int width, int height, int pixel,
               Visit&& visit) {
  for (int y = 0; y < height; y += kBlock) {
    const int row = place_of(y, 1, height);
    for (int x = 0; x * pixel < width; x += kBlock) {
      const int column = place_of(x, pixel, width);
      if (row < 0 || column < 0) continue;
      if (!visit(data + row * row_bytes + column)) return;
    }
  }
}

}  // namespace

void PictureHoles::watch(AVCodecContext& context) {
  context.opaque = this;
  context.get_buffer2 = &PictureHoles::get_buffer;
}

int PictureHoles::get_buffer(AVCodecContext* context, AVFrame* frame, int flags) {
  const int got = avcodec_default_get_buffer2(context, frame, flags);
  if (got >= 0) static_cast<PictureHoles*>(context->opaque)->begin(*frame);
  return got;
}

void PictureHoles::begin(const AVFrame& frame) {
  const AVPixFmtDescriptor* const about = av_pix_fmt_desc_get(AVPixelFormat(frame.format));
  if (about == nullptr || frame.buf[0] == nullptr) return;
  for (int i = 0; clears_ && i < AV_NUM_DATA_POINTERS && frame.buf[i] != nullptr; ++i) {
    std::memset(frame.buf[i]->data, 0, frame.buf[i]->size);
  }
  Luma luma{nullptr,      frame.data[0],      frame.linesize[0], frame.width * about->comp[0].step,
            frame.height, about->comp[0].step};
  each_mark(luma.data, luma.row_bytes, luma.width, luma.height, luma.pixel, [](std::uint8_t* at) {
    return std::memcpy(at, kMark.data(), kMark.size()) != nullptr;
  });
  luma.keeps.reset(av_buffer_ref(frame.buf[0]));
  if (luma.keeps != nullptr) begun_.push_back(std::move(luma));
}

bool PictureHoles::found() {
  bool holes = false;
  for (const Luma& one : begun_) {
    each_mark(one.data, one.row_bytes, one.width, one.height, one.pixel, [&](std::uint8_t* at) {
      holes = std::memcmp(at, kMark.data(), kMark.size()) == 0;
      return !holes;
    });
    if (holes) break;
  }
  begun_.clear();
  return holes;
}

}  // namespace penstock::media::av
