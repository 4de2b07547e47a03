// The entry of libpenstock_av: demuxer, decoder and converters put together.
#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "media/av/av.h"
#include "media/av/ffmpeg/decoder.h"
#include "media/av/ffmpeg/demuxer.h"
#include "media/av/ffmpeg/flac.h"
#include "media/av/ffmpeg/flac_file.h"
#include "media/av/ffmpeg/parameter_sets.h"
#include "media/av/ffmpeg/picture_order.h"
#include "media/av/ffmpeg/pixels.h"
#include "media/av/ffmpeg/recovery.h"
#include "media/av/ffmpeg/sounds.h"

namespace penstock::media::av {
namespace {

class FfmpegInput final : public Input {
 public:
  FfmpegInput(std::shared_ptr<const storage::Source> source, const InputOptions& options)
      : name_(source->name()), demuxer_(std::move(source), options), decoder_(options) {}

  Status open() { return demuxer_.open(); }

  const StreamInfo& stream() const noexcept override { return demuxer_.info(); }
  Result<bool> read(Packet& packet) override { return demuxer_.read(packet); }
  void read_blank(bool blank) override { demuxer_.read_blank(blank); }
  Status seek(std::int64_t time) override { return demuxer_.seek(time); }
  Status seek_byte(std::int64_t pos) override { return demuxer_.seek_byte(pos); }
  Status rewind() override {
    order_.reset();
    return demuxer_.rewind();
  }
  std::int64_t complaints() const noexcept override { return demuxer_.messages().errors; }
  const std::string& complaint() const noexcept override { return demuxer_.messages().first; }

  Start start() const noexcept override {
    const AVCodecParameters& is = demuxer_.parameters();
    if (is.codec_id != AV_CODEC_ID_H264) return Start::clean;
    const AVPacket& packet = const_cast<Demuxer&>(demuxer_).packet();
    return h264_start({packet.data, std::size_t(packet.size)},
                      {is.extradata, std::size_t(is.extradata_size)});
  }

  bool shown_early() override {
    Messages ignored;
    const Listening listening(ignored);
    if (!order_) order_.emplace(demuxer_.parameters());
    return order_->is_early(demuxer_.packet());
  }

  bool holds_two() const override {
    return demuxer_.parameters().codec_id == AV_CODEC_ID_MPEG4 &&
           holds_two_pictures(const_cast<Demuxer&>(demuxer_).packet());
  }

  bool parameter_sets(std::vector<ParameterSet>& sets) const override {
    return read_parameter_sets(const_cast<Demuxer&>(demuxer_).packet(), demuxer_.parameters(),
                               demuxer_.is_blank(), sets);
  }
  void begin_with(std::vector<ParameterSet> sets) override { begin_with_ = std::move(sets); }

  void expect_reorder(int pictures) override { decoder_.expect_reorder(pictures); }

  Status send(std::int64_t tag, Wanted wanted) override {
    if (!decoder_.is_open()) {
      Status opened = decoder_.open(demuxer_.parameters(), demuxer_.tick(), stream(),
                                    demuxer_.is_bare(), name_);
      if (!opened) return opened;
    }
    if ((demuxer_.packet().flags & AV_PKT_FLAG_DISCARD) != 0) unshown_.push_back(tag);
    if (!begin_with_) return decoder_.send(demuxer_.packet(), tag, wanted);
    const PacketPtr packet =
        with_parameter_sets(demuxer_.packet(), demuxer_.parameters(), *begin_with_);
    begin_with_.reset();
    if (packet == nullptr) return Error(Code::out_of_memory, "no memory to decode");
    return decoder_.send(*packet, tag, wanted);
  }
  Status drain() override {
    if (!decoder_.is_open()) return {};
    return decoder_.drain();
  }
  Result<bool> receive(Picture& picture) override {
    Result<bool> got = false;
    do {
      got = receive_frame();
      if (got && *got) picture = picture_of(decoder_.frame(), decoder_.frame_is_damaged());
    } while (got && *got && is_unshown(picture.tag));
    if (got && !*got && decoder_.is_open()) note_format(picture);
    return got;
  }
  Result<bool> receive(Sound& sound) override {
    Result<bool> got = receive_frame();
    if (got && *got) sound = sound_of(decoder_.frame(), decoder_.frame_is_damaged());
    return got;
  }
  void flush() override {
    unshown_.clear();
    begin_with_.reset();
    decoder_.flush();
  }
  bool must_repeat() noexcept override { return decoder_.must_repeat(); }
  std::int64_t damages() const noexcept override { return decoder_.damages(); }
  const std::string& damage() const noexcept override { return decoder_.damage(); }
  std::int64_t gaps() const noexcept override { return decoder_.gaps(); }

  Status convert(PixelMode mode, std::uint8_t* out, std::ptrdiff_t row_bytes) override {
    if (mode == PixelMode::rgba && stream().alpha && !decoder_.knows_alpha()) {
      return Error(Code::unsupported, "the alpha of " + stream().codec +
                                          " is decoded by libvpx, which this FFmpeg "
                                          "was built without; other modes than RGBA can be had")
          .in_file(name_);
    }
    return pixel_converter().convert(decoder_.frame(), mode, out, row_bytes);
  }
  Result<std::unique_ptr<Resampler>> resampler(const SampleForm& form) override {
    return make_resampler(decoder_.frame(), form);
  }

 private:
  // Most decoders leave such pictures out themselves, those of AV1 and MJPEG since FFmpeg 6.1.
  bool is_unshown(std::int64_t tag) const {
    return std::find(unshown_.begin(), unshown_.end(), tag) != unshown_.end();
  }
  Result<bool> receive_frame() {
    if (!decoder_.is_open()) return false;
    return decoder_.receive();
  }
  // Without a picture: what the decoder knows of those to come.
  void note_format(Picture& picture) const {
    const AVPixFmtDescriptor* about = av_pix_fmt_desc_get(decoder_.context().pix_fmt);
    if (about == nullptr) return;
    picture.format = about->name;
    picture.bits = about->comp[0].depth;
    picture.alpha = (about->flags & AV_PIX_FMT_FLAG_ALPHA) != 0;
  }

  std::string name_;
  Demuxer demuxer_;
  Decoder decoder_;
  std::optional<PictureOrder> order_;
  std::optional<std::vector<ParameterSet>> begin_with_;
  std::vector<std::int64_t> unshown_;  // tags of packets that an edit list leaves out
};

class FfmpegLibrary final : public Library {
 public:
  FfmpegLibrary() { listen_to_log(); }
  int interface() const noexcept override { return kInterface; }
  std::string version() const override { return av_version_info(); }
  std::string flac_version() const override { return flac_library_version(); }
  Result<std::unique_ptr<Input>> open(std::shared_ptr<const storage::Source> source,
                                      const InputOptions& options) override {
    auto input = std::make_unique<FfmpegInput>(std::move(source), options);
    if (Status opened = input->open(); !opened) return std::move(opened).error();
    return std::unique_ptr<Input>(std::move(input));
  }
  std::unique_ptr<FlacFile> open_flac(std::shared_ptr<const storage::Source> source) override {
    return open_flac_file(std::move(source));
  }
  Result<std::vector<std::byte>> encode_flac(std::span<const std::int32_t> samples, int channels,
                                             int sample_rate, int bits) override {
    return flac_of(samples, channels, sample_rate, bits);
  }
};

}  // namespace
}  // namespace penstock::media::av

extern "C" __attribute__((visibility("default"))) penstock::media::av::Library*
penstock_av_library() {
  static penstock::media::av::FfmpegLibrary library;
  return &library;
}
