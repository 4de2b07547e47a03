#include "media/av/ffmpeg/flac_file.h"

#include <FLAC/format.h>
#include <FLAC/stream_decoder.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "media/av/ffmpeg/headers.h"
#include "media/av/ffmpeg/sounds.h"

namespace penstock::media::av {
namespace {

constexpr std::size_t kHead = 42;            // the mark, and the first block, which tells of all
constexpr std::size_t kBlock = 256 * 1024;   // bytes that are read at a time, front to back
constexpr std::size_t kProbe = 16 * 1024;    // the same while a place is looked for
constexpr std::int64_t kWorthASeek = 16384;  // samples

struct Delete {
  void operator()(FLAC__StreamDecoder* decoder) const noexcept {
    FLAC__stream_decoder_delete(decoder);
  }
};

class LibFlacFile final : public FlacFile {
 public:
  explicit LibFlacFile(std::shared_ptr<const storage::Source> source)
      : source_(std::move(source)) {}

  bool open() {
    std::array<std::byte, kHead> head{};
    if (source_->size() <= kHead || !source_->read(0, head)) return false;
    const auto byte = [&head](std::size_t at) { return std::to_integer<std::int64_t>(head[at]); };
    if (std::memcmp(head.data(), "fLaC", 4) != 0 || (byte(4) & 0x7F) != 0) return false;
    sample_rate = int(byte(18) << 12 | byte(19) << 4 | byte(20) >> 4);
    channels = int(byte(20) >> 1 & 7) + 1;
    bits = int((byte(20) & 1) << 4 | byte(21) >> 4) + 1;
    samples = (byte(21) & 15) << 32 | byte(22) << 24 | byte(23) << 16 | byte(24) << 8 | byte(25);
    return sample_rate > 0 && bits >= 4 && bits <= 24 && samples > 0;
  }

  bool read(std::int64_t first, std::int64_t count, bool floating,
            std::uint8_t* const* rows) override {
    floating_ = floating, rows_ = rows;
    return decode(first, count);
  }

  std::int64_t read_as(const SampleForm& form, std::int64_t first, std::int64_t count,
                       std::uint8_t* const* rows, std::int64_t room, std::int64_t least) override {
    mixes_ = form.channels > 0 && form.channels != channels;
    if (mixes_ && channels > 2) return -1;  // FFmpeg knows which is where
    // What libswresample works in when it is given what FFmpeg's decoder gives.
    floating_ = form.floating || bits > 16;
    frame_.reset(av_frame_alloc());
    if (frame_ == nullptr) return -1;
    frame_->format = floating_ ? AV_SAMPLE_FMT_FLTP : AV_SAMPLE_FMT_S16P;
    frame_->sample_rate = sample_rate;
    av_channel_layout_default(&frame_->ch_layout, channels);
    Result<std::unique_ptr<Resampler>> made = make_resampler(*frame_, form);
    if (!made) return -1;
    resampler_ = *std::move(made);
    made_ = 0, room_ = room, least_ = least, made_rows_ = rows;
    made_channels_ = form.channels > 0 ? form.channels : channels;
    made_bytes_ = form.floating ? sizeof(float) : sizeof(std::int16_t);
    if (!decode(first, count) || !convert(0)) return -1;
    resampler_.reset();
    return made_;
  }

 private:
  bool decode(std::int64_t first, std::int64_t count) {
    first_ = next_ = first, end_ = first + count;
    const bool seeks = first >= kWorthASeek;
    block_ = seeks ? kProbe : kBlock;
    decoder_.reset(FLAC__stream_decoder_new());
    if (decoder_ == nullptr ||
        (mixes_ && !FLAC__stream_decoder_set_metadata_respond(
                       decoder_.get(), FLAC__METADATA_TYPE_VORBIS_COMMENT)) ||
        FLAC__stream_decoder_init_stream(decoder_.get(), &fill, &seek, &tell, &length, &at_end,
                                         &take, &remark, &complain,
                                         this) != FLAC__STREAM_DECODER_INIT_STATUS_OK ||
        !FLAC__stream_decoder_process_until_end_of_metadata(decoder_.get())) {
      return false;
    }
    if (seeks && !FLAC__stream_decoder_seek_absolute(decoder_.get(), FLAC__uint64(first))) {
      return false;
    }
    block_ = kBlock;
    while (fine_ && next_ < end_) {
      frames_ = 0;
      if (!FLAC__stream_decoder_process_single(decoder_.get())) return false;
      if (frames_ > 1)
        return false;  // those before the last are silence, for some that are missing
      if (FLAC__stream_decoder_get_state(decoder_.get()) == FLAC__STREAM_DECODER_END_OF_STREAM) {
        break;
      }
    }
    return fine_ && next_ == end_;
  }

  static LibFlacFile& self(void* data) { return *static_cast<LibFlacFile*>(data); }

  static FLAC__StreamDecoderReadStatus fill(const FLAC__StreamDecoder*, FLAC__byte* into,
                                            std::size_t* size, void* data) {
    LibFlacFile& file = self(data);
    const std::size_t there = std::size_t(file.source_->size());
    if (file.at_ >= there) {
      *size = 0;
      return FLAC__STREAM_DECODER_READ_STATUS_END_OF_STREAM;
    }
    if (file.at_ < file.buffer_at_ || file.at_ >= file.buffer_at_ + file.buffer_.size()) {
      file.buffer_at_ = file.at_;
      file.buffer_.resize(std::min(file.block_, there - file.at_));
      if (!file.source_->read(file.at_, file.buffer_)) {
        file.buffer_.clear();
        return FLAC__STREAM_DECODER_READ_STATUS_ABORT;
      }
    }
    const std::size_t from = file.at_ - file.buffer_at_;
    *size = std::min(*size, file.buffer_.size() - from);
    std::memcpy(into, file.buffer_.data() + from, *size);
    file.at_ += *size;
    return FLAC__STREAM_DECODER_READ_STATUS_CONTINUE;
  }

  static FLAC__StreamDecoderSeekStatus seek(const FLAC__StreamDecoder*, FLAC__uint64 to,
                                            void* data) {
    self(data).at_ = std::size_t(to);
    return FLAC__STREAM_DECODER_SEEK_STATUS_OK;
  }
  static FLAC__StreamDecoderTellStatus tell(const FLAC__StreamDecoder*, FLAC__uint64* at,
                                            void* data) {
    *at = self(data).at_;
    return FLAC__STREAM_DECODER_TELL_STATUS_OK;
  }
  static FLAC__StreamDecoderLengthStatus length(const FLAC__StreamDecoder*, FLAC__uint64* size,
                                                void* data) {
    *size = self(data).source_->size();
    return FLAC__STREAM_DECODER_LENGTH_STATUS_OK;
  }
  static FLAC__bool at_end(const FLAC__StreamDecoder*, void* data) {
    return self(data).at_ >= self(data).source_->size();
  }

  static FLAC__StreamDecoderWriteStatus take(const FLAC__StreamDecoder*, const FLAC__Frame* frame,
                                             const FLAC__int32* const* from, void* data) {
    self(data).put(*frame, from);
    ++self(data).frames_;
    return self(data).fine_ ? FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE
                            : FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
  }
  // A file that says where its channels stand is mixed by FFmpeg, which heeds that.
  static void remark(const FLAC__StreamDecoder*, const FLAC__StreamMetadata* is, void* data) {
    if (!self(data).mixes_ || is->type != FLAC__METADATA_TYPE_VORBIS_COMMENT) return;
    const FLAC__StreamMetadata_VorbisComment& all = is->data.vorbis_comment;
    constexpr std::string_view kMask = "WAVEFORMATEXTENSIBLE_CHANNEL_MASK=";
    for (FLAC__uint32 i = 0; i < all.num_comments; ++i) {
      const FLAC__StreamMetadata_VorbisComment_Entry& one = all.comments[i];
      if (one.length >= kMask.size() && av_strncasecmp(reinterpret_cast<const char*>(one.entry),
                                                       kMask.data(), kMask.size()) == 0) {
        self(data).fine_ = false;
      }
    }
  }
  // libFLAC does not call this while it looks for a place.
  static void complain(const FLAC__StreamDecoder*, FLAC__StreamDecoderErrorStatus, void* data) {
    self(data).fine_ = false;
  }

  void put(const FLAC__Frame& frame, const FLAC__int32* const* from) {
    const FLAC__FrameHeader& is = frame.header;
    const auto at = std::int64_t(is.number.sample_number);
    const std::int64_t size = is.blocksize;
    if (int(is.channels) != channels || int(is.bits_per_sample) != bits ||
        int(is.sample_rate) != sample_rate || at > next_ ||
        is.number_type != FLAC__FRAME_NUMBER_TYPE_SAMPLE_NUMBER) {
      fine_ = false;
      return;
    }
    const std::int64_t to = std::min(at + size, end_);
    if (to <= next_) return;
    const std::int64_t count = to - next_;
    const std::size_t bytes = floating_ ? sizeof(float) : sizeof(std::int16_t);
    if (resampler_ != nullptr) scratch_.resize(std::size_t(count * channels) * bytes);
    for (int c = 0; c < channels; ++c) {
      std::uint8_t* out = nullptr;
      if (resampler_ != nullptr) {
        out = frame_->data[c] = scratch_.data() + std::size_t(c * count) * bytes;
      } else {
        out = rows_[c] + std::size_t(next_ - first_) * bytes;
      }
      put_row(from[c] + (next_ - at), count, out);
    }
    next_ = to;
    if (resampler_ != nullptr && !convert(count)) fine_ = false;
  }

  void put_row(const FLAC__int32* row, std::int64_t count, std::uint8_t* into) const {
    if (floating_) {
      const float scale = 1.0F / float(1U << (bits - 1));
      auto* const out = reinterpret_cast<float*>(into);
      for (std::int64_t i = 0; i < count; ++i) out[i] = float(row[i]) * scale;
    } else {
      const int up = std::max(16 - bits, 0), down = std::max(bits - 16, 0);
      auto* const out = reinterpret_cast<std::int16_t*>(into);
      for (std::int64_t i = 0; i < count; ++i) {
        out[i] = std::int16_t(std::int32_t(std::uint32_t(row[i]) << up) >> down);
      }
    }
  }

  // `count` samples of the scratch through the resampler; 0: what is left inside it.
  bool convert(std::int64_t count) {
    std::array<std::uint8_t*, kMostChannels> rows{};
    for (int c = 0; c < made_channels_; ++c) {
      rows[std::size_t(c)] = made_rows_[c] + std::size_t(made_) * made_bytes_;
    }
    const std::int64_t left = room_ - made_;
    const Result<std::int64_t> got = count > 0
                                         ? resampler_->convert(0, count, rows.data(), left)
                                         : resampler_->finish(rows.data(), left, least_ - made_);
    if (!got) return false;
    made_ += *got;
    return true;
  }

  std::shared_ptr<const storage::Source> source_;
  std::unique_ptr<FLAC__StreamDecoder, Delete> decoder_;
  std::vector<std::byte> buffer_;
  std::size_t buffer_at_ = 0, at_ = 0, block_ = kBlock;
  std::int64_t first_ = 0, next_ = 0, end_ = 0;
  int frames_ = 0;  // of one call
  bool floating_ = true, fine_ = true;
  std::uint8_t* const* rows_ = nullptr;
  // Of read_as.
  FramePtr frame_;  // points into scratch_; outlives the resampler
  std::unique_ptr<Resampler> resampler_;
  std::vector<std::uint8_t> scratch_;
  std::uint8_t* const* made_rows_ = nullptr;
  std::int64_t made_ = 0, room_ = 0, least_ = 0;
  int made_channels_ = 0;
  std::size_t made_bytes_ = 0;
  bool mixes_ = false;
};

}  // namespace

std::unique_ptr<FlacFile> open_flac_file(std::shared_ptr<const storage::Source> source) {
  auto file = std::make_unique<LibFlacFile>(std::move(source));
  if (!file->open()) return nullptr;
  return file;
}

std::string flac_library_version() {
  return FLAC__VERSION_STRING;
}

}  // namespace penstock::media::av
