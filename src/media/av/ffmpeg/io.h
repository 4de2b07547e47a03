// A storage source as FFmpeg reads it. FFmpeg's own protocols are not used.
//
// One call of FFmpeg may read a few times the whole file and no more: a damaged file cannot keep a
// demuxer busy for ever.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "media/av/ffmpeg/headers.h"
#include "penstock/error.h"
#include "storage/source.h"

namespace penstock::media::av {

class SourceIo {
 public:
  SourceIo(std::shared_ptr<const storage::Source> source, int buffer_size);
  ~SourceIo();
  SourceIo(const SourceIo&) = delete;
  SourceIo& operator=(const SourceIo&) = delete;

  AVIOContext* context() const noexcept { return context_; }  // null: no memory
  const storage::Source& source() const noexcept { return *source_; }

  // Zeros in place of the file's bytes, until told otherwise; enough for any way of FFmpeg to get
  // to the next packet, and not for all of a large one.
  void set_blank(bool blank) noexcept;
  bool blank() const noexcept { return blank_; }
  void begin_call() noexcept {
    bytes_left_ = limit_, zeros_left_ = most_zeros_, calls_left_ = kMostCalls;
  }
  bool exhausted() const noexcept { return bytes_left_ < 0 || calls_left_ < 0; }
  // What a read has failed with since this was last asked.
  std::optional<Error> take_failure();

 private:
  static constexpr std::int64_t kMostCalls = 4'000'000;

  static int read(void* self, std::uint8_t* into, int size);
  static std::int64_t seek(void* self, std::int64_t offset, int whence);

  std::shared_ptr<const storage::Source> source_;
  AVIOContext* context_ = nullptr;
  std::int64_t size_ = 0, at_ = 0, limit_ = 0, most_zeros_ = 0;
  std::int64_t bytes_left_ = 0, zeros_left_ = 0, calls_left_ = kMostCalls;
  bool blank_ = false;
  std::optional<Error> failure_;
};

}  // namespace penstock::media::av
