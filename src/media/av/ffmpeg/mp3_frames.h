// The frames of a plain MP3 file, found by their headers: what FFmpeg's demuxer and parser give of
// such a file, at a fraction of the work. A file with anything else between its frames is theirs.
//
// Thread safety: one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "media/av/av.h"
#include "media/av/ffmpeg/headers.h"
#include "storage/source.h"

namespace penstock::media::av {

struct Mp3Header {
  int sample_rate = 0;  // 0: this is no header of an MP3 frame
  int channels = 0;
  std::int64_t samples = 0;  // of each channel
  std::uint64_t size = 0;    // of the frame, in bytes
  int side = 0;              // bytes of side information, where the encoder's tag begins after
};

// `four` bytes.
Mp3Header mp3_header(const std::uint8_t* four) noexcept;

class Mp3Frames {
 public:
  // Frames come in `packet`, which outlives this and has nothing in it.
  Mp3Frames(std::shared_ptr<const storage::Source> source, AVPacket& packet)
      : source_(std::move(source)), packet_(packet) {}

  // Three frames alike in a row, behind an ID3 tag if there is one? Else this is not for us.
  bool open();
  const Mp3Header& first() const noexcept { return first_; }
  bool knows_samples() const noexcept { return last_ > 0; }
  std::int64_t samples() const noexcept;  // of each channel; a guess where the encoder says nothing
  std::int64_t least() const noexcept;    // so many there must be; encoders may be one frame out

  enum class Next : std::uint8_t { frame, end, strange };
  // The next frame, in the packet, and what is to be known of it. Its bytes are a part of the
  // packet's buffer, and until the next call there are zeros behind them, as decoders want it; who
  // needs them longer makes a copy.
  Next next(Packet& packet);

 private:
  // Bytes of the file, null: there are not so many, or they cannot be read.
  std::uint8_t* bytes(std::uint64_t at, std::size_t size);
  void cover(std::uint8_t* behind) noexcept;
  void uncover() noexcept;
  void read_tag();
  bool at_tags();

  std::shared_ptr<const storage::Source> source_;
  Mp3Header first_;
  AVPacket& packet_;
  std::uint64_t block_at_ = 0, block_size_ = 0;  // which bytes of the file are in its buffer
  std::uint64_t at_ = 0;                         // of the next frame
  std::int64_t sample_ = 0;                      // its first
  std::int64_t frames_ = 0;                      // as the encoder says; 0: it does not
  std::int64_t skip_front_ = 0;                  // samples that the encoder put in front
  std::int64_t end_ = 0, last_ = 0;  // where padding begins, and where frames end; 0: not known
  std::uint8_t* covered_ = nullptr;  // where bytes of the buffer are zeros for a while
  std::array<std::uint8_t, AV_INPUT_BUFFER_PADDING_SIZE> under_{};
};

}  // namespace penstock::media::av
