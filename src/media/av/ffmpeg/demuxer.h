// One stream of a file as packets.
#pragma once

#include <memory>
#include <string>

#include "media/av/av.h"
#include "media/av/ffmpeg/headers.h"
#include "media/av/ffmpeg/io.h"
#include "media/av/ffmpeg/log.h"
#include "media/av/ffmpeg/mp3_frames.h"
#include "media/av/ffmpeg/sniff.h"

namespace penstock::media::av {

// Thread safety: one thread at a time.
class Demuxer {
 public:
  Demuxer(std::shared_ptr<const storage::Source> source, const InputOptions& options)
      : source_(std::move(source)), options_(options) {}
  ~Demuxer() { close(); }
  Demuxer(const Demuxer&) = delete;
  Demuxer& operator=(const Demuxer&) = delete;

  Status open();
  const StreamInfo& info() const noexcept { return info_; }
  const AVCodecParameters& parameters() const noexcept { return *parameters_; }
  AVRational tick() const noexcept { return tick_; }
  bool is_bare() const noexcept { return mp3_ != nullptr; }  // packets have no side data

  Result<bool> read(Packet& packet);
  AVPacket& packet() noexcept { return *packet_; }  // the one last read
  void read_blank(bool blank);
  bool is_blank() const noexcept { return io_ != nullptr && io_->blank(); }
  Status seek(std::int64_t time) { return seek(time, AVSEEK_FLAG_BACKWARD); }
  Status seek_byte(std::int64_t pos) { return seek(pos, AVSEEK_FLAG_BYTE); }
  Status rewind();
  const Messages& messages() const noexcept { return messages_; }

 private:
  void close() noexcept;
  Status seek(std::int64_t to, int flags);
  Status choose_stream();
  bool open_mp3();
  bool read_mp3(Packet& packet);
  void describe();
  void describe_mp3();
  void measure(Packet& packet) const;
  bool leave_out_filling();
  void place_flac(Packet& packet) const;
  Error failed(int code, const char* doing);
  static int refuse(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**);

  std::shared_ptr<const storage::Source> source_;
  InputOptions options_;
  std::unique_ptr<SourceIo> io_;
  AVFormatContext* format_ = nullptr;
  AVStream* stream_ = nullptr;                     // null: it could not be opened again
  const AVCodecParameters* parameters_ = nullptr;  // the stream's
  AVRational tick_{};
  std::unique_ptr<Mp3Frames> mp3_;  // in place of the format
  ParametersPtr own_;               // of that
  PacketPtr packet_;
  StreamInfo info_;
  Messages messages_;
};

}  // namespace penstock::media::av
