#include "media/av/ffmpeg/decoder.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "media/av/ffmpeg/parameter_sets.h"
#include "media/av/ffmpeg/spare.h"

namespace penstock::media::av {
namespace {

constexpr int kMostThreads = 64;  // FFmpeg's own limit where it finds the number out itself is 16

// Does the decoder know pictures that no other refers to, and is nothing else changed when it
// leaves them out? HEVC marks them within a temporal layer only.
bool may_skip(AVCodecID codec, const StreamInfo& info) {
  return codec == AV_CODEC_ID_H264 || codec == AV_CODEC_ID_MPEG2VIDEO ||
         (codec == AV_CODEC_ID_HEVC && info.one_layer);
}

// FFmpeg's own decoders of VP8 and VP9 leave out alpha; libvpx, which knows it, may be missing.
const AVCodec* decoder_of(AVCodecID codec, const StreamInfo& info) {
  const AVCodec* found = nullptr;
  if (info.alpha) {
    found = avcodec_find_decoder_by_name(codec == AV_CODEC_ID_VP8 ? "libvpx" : "libvpx-vp9");
  }
  return found != nullptr ? found : avcodec_find_decoder(codec);
}

}  // namespace

Status Decoder::open(const AVCodecParameters& parameters, AVRational tick, const StreamInfo& info,
                     bool bare, const std::string& name) {
  Messages messages;
  const Listening listening(messages);
  name_ = name;
  const AVCodec* codec = decoder_of(parameters.codec_id, info);
  if (codec == nullptr) {
    return Error(Code::unsupported, "this FFmpeg has no decoder for " + info.codec).in_file(name);
  }
  frame_.reset(av_frame_alloc());
  if (frame_ == nullptr) return Error(Code::out_of_memory, "no memory for a decoder");
  SpareDecoder spare;
  if (!info.alpha && !begins_anew_) spare = take_decoder(parameters, options_);
  used_ = spare.context != nullptr;
  if (used_) {
    context_ = std::move(spare.context);
    opened_with_ = std::move(spare.parameters);
    delay_ = spare.delay;
  } else if (Status made = make(parameters, codec, info, bare); !made) {
    context_.reset();
    if (made.error().code() == Code::corrupt && !messages.first.empty()) {
      return Error(Code::corrupt, made.error().message() + ": " + messages.first).in_file(name);
    }
    return std::move(made).error().in_file(name);
  }
  context_->pkt_timebase = tick;
  context_->max_pixels = options_.max_pixels;
  may_lack_pictures_ = may_lack_pictures(parameters);
  skips_exactly_ = may_skip(parameters.codec_id, info);
  watches_ = parameters.codec_id == AV_CODEC_ID_HEVC && options_.threads <= 1;
  if (watches_) holes_.watch(*context_);
  expect_reorder(reorder_);
  return {};
}

Status Decoder::make(const AVCodecParameters& parameters, const AVCodec* codec,
                     const StreamInfo& info, bool bare) {
  context_.reset(avcodec_alloc_context3(codec));
  if (context_ == nullptr || avcodec_parameters_to_context(context_.get(), &parameters) < 0) {
    return Error(Code::out_of_memory, "no memory for a decoder");
  }
  context_->thread_count = std::clamp(options_.threads, 1, kMostThreads);
  context_->max_pixels = options_.max_pixels;
  context_->err_recognition = AV_EF_CRCCHECK;
  if (reorder_ < 0 && parameters.codec_id == AV_CODEC_ID_H264) {
    context_->strict_std_compliance = FF_COMPLIANCE_STRICT;  // as expect_reorder, for all threads
  }
  // Padding is left out by who knows where a part begins. The flag costs four allocations a frame.
  if (options_.kind == Kind::audio && !bare) context_->flags2 |= AV_CODEC_FLAG2_SKIP_MANUAL;
  if (const int opened = avcodec_open2(context_.get(), codec, nullptr); opened < 0) {
    return Error(opened == AVERROR(ENOMEM) ? Code::out_of_memory : Code::corrupt,
                 "the " + info.codec + " decoder cannot be opened: " + words_of(opened));
  }
  delay_ = context_->has_b_frames;
  if (info.alpha || !may_be_kept(parameters, options_)) return {};
  opened_with_.reset(avcodec_parameters_alloc());
  if (opened_with_ != nullptr && avcodec_parameters_copy(opened_with_.get(), &parameters) < 0) {
    opened_with_.reset();
  }
  return {};
}

Decoder::~Decoder() {
  if (context_ == nullptr || opened_with_ == nullptr || damages_ > 0 || used_) return;
  Messages ignored;
  const Listening listening(ignored);
  frame_.reset();
  keep_decoder({std::move(context_), std::move(opened_with_), delay_});
}

void Decoder::expect_reorder(int pictures) {
  reorder_ = pictures;
  if (context_ == nullptr || context_->codec_id != AV_CODEC_ID_H264) return;
  // Of a stream that does not say it, the decoder else finds out by losing pictures.
  context_->strict_std_compliance = pictures < 0 ? FF_COMPLIANCE_STRICT : FF_COMPLIANCE_NORMAL;
  context_->has_b_frames = std::max(delay_, std::min(pictures, 16));
}

// Damage is counted; only what says nothing about the data is an Error.
Status Decoder::judge(int code, Messages&& messages) {
  if (code == AVERROR(ENOMEM)) return Error(Code::out_of_memory, "no memory to decode");
  if (!may_lack_pictures_) gaps_ += messages.gaps;
  const bool refused = code < 0 && code != AVERROR(EAGAIN) && code != AVERROR_EOF;
  if (refused || messages.errors > 0) {
    note_damage(messages.first.empty() ? words_of(code) : std::move(messages.first));
  }
  return {};
}

Status Decoder::send(AVPacket& packet, std::int64_t tag, Wanted wanted) {
  Messages messages;
  const Listening listening(messages);
  context_->skip_frame = wanted == Wanted::parameters                     ? AVDISCARD_ALL
                         : wanted == Wanted::references && skips_exactly_ ? AVDISCARD_NONREF
                                                                          : AVDISCARD_DEFAULT;
  if (std::exchange(used_, false) && opened_with_->extradata_size > 0 &&
      av_packet_get_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, nullptr) == nullptr) {
    // What the stream before has said since of its pictures is forgotten.
    const auto size = std::size_t(opened_with_->extradata_size);
    std::uint8_t* const again = av_packet_new_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, size);
    if (again == nullptr) return Error(Code::out_of_memory, "no memory to decode");
    std::memcpy(again, opened_with_->extradata, size);
  }
  const std::int64_t pts = std::exchange(packet.pts, tag);
  const int sent = avcodec_send_packet(context_.get(), &packet);
  packet.pts = pts;
  if (sent == AVERROR(EAGAIN)) return Error(Code::internal, "a decoder was not emptied");
  note_holes();
  return judge(sent, std::move(messages));
}

void Decoder::note_holes() {
  if (!watches_ || !holes_.found()) return;
  note_damage("parts of the picture are missing");
}

void Decoder::note_damage(std::string what) {
  ++damages_;
  damage_ = std::move(what);
  if (!watches_) return;
  repeats_ = repeats_ || !begins_anew_;
  begins_anew_ = true;
  holes_.clear_first();
}

Status Decoder::drain() {
  Messages messages;
  const Listening listening(messages);
  return judge(avcodec_send_packet(context_.get(), nullptr), std::move(messages));
}

Result<bool> Decoder::receive() {
  // Each turn uses up something that was sent, so this ends.
  for (;;) {
    Messages messages;
    const Listening listening(messages);
    const int got = avcodec_receive_frame(context_.get(), frame_.get());
    if (Status judged = judge(got, std::move(messages)); !judged) return std::move(judged).error();
    if (got >= 0) return true;
    if (got == AVERROR(EAGAIN) || got == AVERROR_EOF) return false;
  }
}

bool Decoder::knows_alpha() const noexcept {
  return context_ != nullptr && std::string_view(context_->codec->name).starts_with("libvpx");
}

bool Decoder::frame_is_damaged() const noexcept {
  return (frame_->flags & AV_FRAME_FLAG_CORRUPT) != 0 || frame_->decode_error_flags != 0;
}

void Decoder::flush() {
  if (context_ == nullptr) return;
  Messages messages;
  const Listening listening(messages);
  av_frame_unref(frame_.get());
  if (begins_anew_) {
    context_.reset();  // what it has kept of other pictures would show through
  } else {
    avcodec_flush_buffers(context_.get());
  }
}

}  // namespace penstock::media::av
