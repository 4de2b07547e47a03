// The decoder of one stream: packets in, pictures or sounds out.
#pragma once

#include <string>
#include <utility>

#include "media/av/av.h"
#include "media/av/ffmpeg/headers.h"
#include "media/av/ffmpeg/log.h"
#include "media/av/ffmpeg/picture_holes.h"

namespace penstock::media::av {

// Thread safety: one thread at a time.
class Decoder {
 public:
  explicit Decoder(const InputOptions& options) : options_(options) {}
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Opened with the first packet. `bare`: packets say nothing of padding to the decoder. `name` is
  // the file's, for messages.
  Status open(const AVCodecParameters& parameters, AVRational tick, const StreamInfo& info,
              bool bare, const std::string& name);
  bool knows_alpha() const noexcept;  // that the container holds beside pictures of VP8 and VP9
  bool is_open() const noexcept { return context_ != nullptr; }

  void expect_reorder(int pictures);
  Status send(AVPacket& packet, std::int64_t tag, Wanted wanted);
  Status drain();
  // The frame is there until the next call.
  Result<bool> receive();
  AVFrame& frame() const noexcept { return *frame_; }
  const AVCodecContext& context() const noexcept { return *context_; }
  bool frame_is_damaged() const noexcept;
  void flush();
  // True, once: a picture is damaged, and may show what was in memory before. What is decoded again
  // from before it, after flush(), comes out the same each time.
  bool must_repeat() noexcept { return std::exchange(repeats_, false); }
  std::int64_t damages() const noexcept { return damages_; }
  const std::string& damage() const noexcept { return damage_; }
  std::int64_t gaps() const noexcept { return gaps_; }

 private:
  Status judge(int code, Messages&& messages);
  void note_holes();
  void note_damage(std::string what);
  Status make(const AVCodecParameters& parameters, const AVCodec* codec, const StreamInfo& info,
              bool bare);

  InputOptions options_;
  CodecPtr context_;
  ParametersPtr opened_with_;  // null: it is not kept
  int delay_ = 0;              // of pictures, when it was new
  bool used_ = false;          // it comes from another stream, and has not been told of this one
  FramePtr frame_;
  std::string name_;
  int reorder_ = -1;
  bool skips_exactly_ = false;  // pictures that no other refers to are known as such
  bool may_lack_pictures_ = false;
  std::int64_t damages_ = 0;
  std::string damage_;
  std::int64_t gaps_ = 0;
  PictureHoles holes_;
  bool watches_ = false, begins_anew_ = false, repeats_ = false;
};

}  // namespace penstock::media::av
