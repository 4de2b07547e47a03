#include "media/av/ffmpeg/io.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace penstock::media::av {

SourceIo::SourceIo(std::shared_ptr<const storage::Source> source, int buffer_size)
    : source_(std::move(source)), size_(std::int64_t(source_->size())) {
  limit_ = size_ > INT64_MAX / 8 ? INT64_MAX : size_ * 4 + (std::int64_t(64) << 20);
  most_zeros_ = 4 * std::int64_t(buffer_size);
  begin_call();
  auto* buffer = static_cast<std::uint8_t*>(av_malloc(std::size_t(buffer_size)));
  if (buffer == nullptr) return;
  context_ =
      avio_alloc_context(buffer, buffer_size, 0, this, &SourceIo::read, nullptr, &SourceIo::seek);
  if (context_ == nullptr) av_free(buffer);
}

SourceIo::~SourceIo() {
  if (context_ == nullptr) return;
  av_freep(&context_->buffer);
  avio_context_free(&context_);
}

void SourceIo::set_blank(bool blank) noexcept {
  if (blank == blank_) return;
  blank_ = blank;
  // What is buffered is of the other kind.
  const std::int64_t here = avio_tell(context_);
  context_->buf_ptr = context_->buf_end = context_->buffer;
  context_->pos = at_ = here;
  context_->eof_reached = 0;
}

std::optional<Error> SourceIo::take_failure() {
  return std::exchange(failure_, std::nullopt);
}

int SourceIo::read(void* self, std::uint8_t* into, int size) {
  auto& io = *static_cast<SourceIo*>(self);
  // A file that was cut off has tables of all that should be there.
  const std::int64_t there = io.blank_ ? io.zeros_left_ : io.size_ - io.at_;
  const std::int64_t count = std::min<std::int64_t>(size, there);
  if (count <= 0) return AVERROR_EOF;
  io.bytes_left_ -= count, --io.calls_left_;
  if (io.exhausted()) return AVERROR_EXIT;
  if (io.blank_) {
    std::memset(into, 0, std::size_t(count));
    io.zeros_left_ -= count;
  } else {
    Status read = io.source_->read(std::uint64_t(io.at_),
                                   {reinterpret_cast<std::byte*>(into), std::size_t(count)});
    if (!read) {
      io.failure_ = std::move(read).error();
      return AVERROR(EIO);
    }
  }
  io.at_ += count;
  return int(count);
}

std::int64_t SourceIo::seek(void* self, std::int64_t offset, int whence) {
  auto& io = *static_cast<SourceIo*>(self);
  if (whence & AVSEEK_SIZE) return io.size_;
  if (--io.calls_left_ < 0) return AVERROR_EXIT;
  switch (whence & ~AVSEEK_FORCE) {
    case SEEK_SET:
      break;
    case SEEK_CUR:
      offset += io.at_;
      break;
    case SEEK_END:
      offset += io.size_;
      break;
    default:
      return AVERROR(EINVAL);
  }
  if (offset < 0) return AVERROR(EINVAL);
  return io.at_ = offset;
}

}  // namespace penstock::media::av
