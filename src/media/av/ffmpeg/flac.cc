#include "media/av/ffmpeg/flac.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "media/av/ffmpeg/headers.h"
#include "media/av/ffmpeg/log.h"

namespace penstock::media::av {
namespace {

constexpr std::size_t kStreamInfo = 34;  // bytes of the first block, which tells of the whole file

class FlacWriter {
 public:
  Status open(int channels, int sample_rate, int bits) {
    const AVCodec* codec = avcodec_find_encoder(AV_CODEC_ID_FLAC);
    if (codec == nullptr) return Error(Code::unsupported, "this FFmpeg has no FLAC encoder");
    context_.reset(avcodec_alloc_context3(codec));
    frame_.reset(av_frame_alloc());
    packet_.reset(av_packet_alloc());
    if (context_ == nullptr || frame_ == nullptr || packet_ == nullptr) return no_memory();
    context_->sample_fmt = bits == 16 ? AV_SAMPLE_FMT_S16 : AV_SAMPLE_FMT_S32;
    context_->bits_per_raw_sample = bits;
    context_->sample_rate = sample_rate;
    context_->time_base = {1, sample_rate};
    context_->thread_count = 1;
    av_channel_layout_default(&context_->ch_layout, channels);
    if (const int opened = avcodec_open2(context_.get(), codec, nullptr); opened < 0) {
      return Error(Code::invalid_argument, "FLAC cannot hold this: " + words_of(opened));
    }
    // A place for the first block, which is known at the end.
    file_ = {std::byte('f'),  std::byte('L'), std::byte('a'), std::byte('C'),
             std::byte(0x80), std::byte(0),   std::byte(0),   std::byte(kStreamInfo)};
    file_.resize(file_.size() + kStreamInfo);
    return {};
  }

  Status write(std::span<const std::int32_t> samples, int channels) {
    const std::size_t step =
        std::size_t(std::max(context_->frame_size, 16)) * std::size_t(channels);
    for (std::size_t done = 0; done < samples.size(); done += step) {
      const std::span some = samples.subspan(done, std::min(step, samples.size() - done));
      av_frame_unref(frame_.get());
      frame_->format = context_->sample_fmt;
      frame_->nb_samples = int(some.size()) / channels;
      frame_->sample_rate = context_->sample_rate;
      frame_->pts = std::int64_t(done) / channels;
      if (av_channel_layout_copy(&frame_->ch_layout, &context_->ch_layout) < 0 ||
          av_frame_get_buffer(frame_.get(), 0) < 0) {
        return no_memory();
      }
      if (context_->sample_fmt == AV_SAMPLE_FMT_S16) {
        auto* const to = reinterpret_cast<std::int16_t*>(frame_->data[0]);
        for (std::size_t i = 0; i < some.size(); ++i) to[i] = std::int16_t(some[i] >> 16);
      } else {
        std::memcpy(frame_->data[0], some.data(), some.size_bytes());
      }
      if (Status sent = send(frame_.get()); !sent) return sent;
    }
    return send(nullptr);
  }

  Result<std::vector<std::byte>> finish() {
    if (context_->extradata == nullptr || std::size_t(context_->extradata_size) < kStreamInfo) {
      return Error(Code::internal, "the FLAC encoder tells nothing of its file");
    }
    std::memcpy(file_.data() + 8, context_->extradata, kStreamInfo);
    return std::move(file_);
  }

 private:
  static Error no_memory() { return {Code::out_of_memory, "no memory for a FLAC encoder"}; }

  Status send(const AVFrame* frame) {
    if (const int sent = avcodec_send_frame(context_.get(), frame); sent < 0) {
      return Error(Code::internal, "the FLAC encoder: " + words_of(sent));
    }
    for (;;) {
      const int got = avcodec_receive_packet(context_.get(), packet_.get());
      if (got == AVERROR(EAGAIN) || got == AVERROR_EOF) return {};
      if (got < 0) return Error(Code::internal, "the FLAC encoder: " + words_of(got));
      const auto* const bytes = reinterpret_cast<const std::byte*>(packet_->data);
      file_.insert(file_.end(), bytes, bytes + packet_->size);
      av_packet_unref(packet_.get());
    }
  }

  CodecPtr context_;
  FramePtr frame_;
  PacketPtr packet_;
  std::vector<std::byte> file_;
};

}  // namespace

Result<std::vector<std::byte>> flac_of(std::span<const std::int32_t> samples, int channels,
                                       int sample_rate, int bits) {
  Messages messages;
  const Listening listening(messages);
  FlacWriter writer;
  if (Status opened = writer.open(channels, sample_rate, bits); !opened) {
    return std::move(opened).error();
  }
  if (Status written = writer.write(samples, channels); !written) {
    return std::move(written).error();
  }
  return writer.finish();
}

}  // namespace penstock::media::av
