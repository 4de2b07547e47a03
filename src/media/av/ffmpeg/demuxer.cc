#include "media/av/ffmpeg/demuxer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "media/av/ffmpeg/packet_samples.h"
#include "media/av/ffmpeg/picture_order.h"
#include "media/av/ffmpeg/vpx_packets.h"

namespace penstock::media::av {
namespace {

bool starts_with(const char* text, std::string_view start) {
  return std::string_view(text).starts_with(start);
}

// A FLAC file's header says what its samples are; FFmpeg would find out by decoding some.
void fill_in_flac(const AVFormatContext& format, AVCodecParameters& is) {
  if (!starts_with(format.iformat->name, "flac") || is.codec_id != AV_CODEC_ID_FLAC) return;
  if (is.extradata == nullptr || is.extradata_size < 34 || is.sample_rate > 0) return;
  const std::uint8_t* const info = is.extradata;
  is.sample_rate = int(unsigned(info[10]) << 12 | unsigned(info[11]) << 4 | info[12] >> 4);
  is.bits_per_raw_sample = ((info[12] & 1) << 4 | info[13] >> 4) + 1;
  is.format = is.bits_per_raw_sample > 16 ? AV_SAMPLE_FMT_S32 : AV_SAMPLE_FMT_S16;
  av_channel_layout_uninit(&is.ch_layout);
  av_channel_layout_default(&is.ch_layout, (info[12] >> 1 & 7) + 1);
}

// Of sounds: may the decoder give another rate than the header says?
bool sound_suffices(const AVFormatContext& format, const AVCodecParameters& is) {
  if (is.sample_rate <= 0 || is.ch_layout.nb_channels <= 0) return false;
  switch (is.codec_id) {
    case AV_CODEC_ID_OPUS:
      return starts_with(format.iformat->name, "ogg");
    case AV_CODEC_ID_AAC:  // plain (type 2); bands may be added (SBR) without a word to low rates
      return starts_with(format.iformat->name, "mov,") && is.extradata_size >= 2 &&
             is.extradata[0] >> 3 == 2 && is.sample_rate > 24000;
    default:
      return false;
  }
}

// Does the container's header say all that a decoder has to know? Else packets must be looked at.
bool header_suffices(const AVFormatContext& format, const AVCodecParameters& is) {
  if (starts_with(format.iformat->name, "flac")) {
    return is.codec_id == AV_CODEC_ID_FLAC && is.sample_rate > 0;
  }
  if (!starts_with(format.iformat->name, "mov,") &&
      !starts_with(format.iformat->name, "matroska")) {
    return false;
  }
  if (is.codec_type == AVMEDIA_TYPE_AUDIO) return false;
  if (is.width <= 0 || is.height <= 0) return false;
  switch (is.codec_id) {
    case AV_CODEC_ID_H264:
    case AV_CODEC_ID_HEVC:
    case AV_CODEC_ID_MPEG4:
      return is.extradata_size > 0;
    case AV_CODEC_ID_VP8:
    case AV_CODEC_ID_VP9:
    case AV_CODEC_ID_AV1:
    case AV_CODEC_ID_MJPEG:
      return true;
    default:
      return false;
  }
}

// Are parsers of no use? Then a packet of this container is a frame as it is.
bool packets_are_frames(const AVFormatContext& format, const AVCodecParameters& is) {
  return starts_with(format.iformat->name, "mov,") && header_suffices(format, is);
}

// Can FFmpeg tell key frames of this codec by their bytes? Of others it calls every packet one
// where a parser is at work (H.263) or the index of an AVI is missing.
bool knows_keys(const AVCodecParameters& is) {
  switch (is.codec_id) {
    case AV_CODEC_ID_H264:
    case AV_CODEC_ID_HEVC:
    case AV_CODEC_ID_MPEG1VIDEO:
    case AV_CODEC_ID_MPEG2VIDEO:
    case AV_CODEC_ID_MPEG4:
    case AV_CODEC_ID_VP8:
    case AV_CODEC_ID_VP9:
    case AV_CODEC_ID_AV1:
      return true;
    default:
      return false;
  }
}

// How pictures are to be mirrored and turned.
void read_matrix(const AVStream& stream, StreamInfo& info) {
  const std::int32_t* matrix = display_matrix(stream);
  if (matrix == nullptr) return;
  std::int32_t turn[9];
  std::copy_n(matrix, 9, turn);
  info.mirrored = double(turn[0]) * turn[4] < double(turn[1]) * turn[3];
  if (info.mirrored)
    turn[0] = -std::max(turn[0], -INT32_MAX), turn[1] = -std::max(turn[1], -INT32_MAX);
  const double degrees = -av_display_rotation_get(turn);
  if (std::isnan(degrees)) return;
  info.rotation = ((int(std::lround(degrees / 90)) % 4) + 4) % 4 * 90;
}

bool has_one_layer(const AVCodecParameters& is) {
  if (is.codec_id != AV_CODEC_ID_HEVC || is.extradata_size < 23 || is.extradata[0] != 1) {
    return false;
  }
  return (is.extradata[21] >> 3 & 7) == 1;
}

std::int64_t time_or_none(std::int64_t time) {
  return time == AV_NOPTS_VALUE ? kNoTime : time;
}

// FFmpeg says "no memory" to any size that it cannot hold, also to those that a damaged file makes
// up. A sound one needs no more than its own size: is there that much?
bool has_memory(std::uint64_t file_bytes) {
  constexpr std::uint64_t kLeast = std::uint64_t(1) << 20, kMost = std::uint64_t(256) << 20;
  void* const tried = av_malloc(std::clamp(file_bytes, kLeast, kMost));
  const bool there = tried != nullptr;
  av_free(tried);
  return there;
}

}  // namespace

int Demuxer::refuse(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) {
  return AVERROR(EPERM);  // files that name other files
}

Error Demuxer::failed(int code, const char* doing) {
  if (std::optional<Error> failure = io_->take_failure()) return *std::move(failure);
  const bool absurd = code == AVERROR(ENOMEM) && has_memory(source_->size());
  const bool memory = code == AVERROR(ENOMEM) && !absurd;
  std::string text = std::string("cannot ") + doing + ": ";
  if (io_->exhausted()) {
    text += "the container's tables go round in circles";
  } else if (messages_.first.empty() && absurd) {
    text += "it wants more memory than there is for any file of its size";
  } else {
    text += messages_.first.empty() ? words_of(code) : messages_.first;
  }
  const bool other = code == AVERROR_DECODER_NOT_FOUND || code == AVERROR_DEMUXER_NOT_FOUND ||
                     code == AVERROR_PATCHWELCOME;
  return Error(memory  ? Code::out_of_memory
               : other ? Code::unsupported
                       : Code::corrupt,
               std::move(text))
      .in_file(source_->name());
}

void Demuxer::close() noexcept {
  Messages ignored;
  const Listening listening(ignored);
  mp3_.reset();
  packet_.reset();
  if (format_ != nullptr) avformat_close_input(&format_);
  stream_ = nullptr;
  parameters_ = nullptr;
  io_.reset();
}

Status Demuxer::open() {
  close();
  const Listening listening(messages_);
  if (source_->size() == 0) {
    return Error(Code::corrupt, "the file is empty").in_file(source_->name());
  }
  packet_.reset(av_packet_alloc());
  if (options_.kind == Kind::audio && !options_.look && options_.stream <= 0) {
    if (open_mp3()) return {};
  }
  io_ = std::make_unique<SourceIo>(source_, options_.buffer);
  format_ = avformat_alloc_context();
  if (io_->context() == nullptr || packet_ == nullptr || format_ == nullptr) {
    return Error(Code::out_of_memory, "no memory for a demuxer");
  }
  format_->pb = io_->context();
  format_->flags |= AVFMT_FLAG_CUSTOM_IO;
  format_->io_open = &Demuxer::refuse;
  const int opened = avformat_open_input(&format_, "", sniff(*source_), nullptr);
  if (opened < 0) {
    if (opened == AVERROR_INVALIDDATA && messages_.first.empty() && !io_->exhausted()) {
      return Error(Code::corrupt, "this is no video or audio file that FFmpeg knows")
          .in_file(source_->name());
    }
    return failed(opened, "open it");
  }
  return choose_stream();
}

// A plain MP3 file is read without FFmpeg's demuxer.
bool Demuxer::open_mp3() {
  own_.reset(avcodec_parameters_alloc());
  if (own_ == nullptr || packet_ == nullptr) return false;
  mp3_ = std::make_unique<Mp3Frames>(source_, *packet_);
  if (!mp3_->open()) {
    mp3_.reset();
    av_packet_unref(packet_.get());
    return false;
  }
  const Mp3Header& is = mp3_->first();
  own_->codec_type = AVMEDIA_TYPE_AUDIO;
  own_->codec_id = AV_CODEC_ID_MP3;
  own_->sample_rate = is.sample_rate;
  av_channel_layout_default(&own_->ch_layout, is.channels);
  parameters_ = own_.get();
  tick_ = {1, is.sample_rate};
  info_ = {};
  info_.container = info_.codec = "mp3";
  info_.tick_num = 1;
  info_.tick_den = info_.sample_rate = is.sample_rate;
  info_.tick = 1.0 / is.sample_rate;
  info_.channels = is.channels;
  info_.frame_size = is.samples;
  info_.duration = double(mp3_->samples()) * info_.tick;
  info_.exact_duration = mp3_->knows_samples();
  info_.total = mp3_->least();
  return true;
}

// What is strange has no samples: who reads on must look at the stream.
bool Demuxer::read_mp3(Packet& packet) {
  const Mp3Frames::Next next = mp3_->next(packet);
  if (next == Mp3Frames::Next::strange) packet = {};
  return next != Mp3Frames::Next::end;
}

Status Demuxer::choose_stream() {
  const bool video = options_.kind == Kind::video;
  const AVMediaType type = video ? AVMEDIA_TYPE_VIDEO : AVMEDIA_TYPE_AUDIO;
  int number = av_find_best_stream(format_, type, options_.stream, -1, nullptr, 0);
  bool looks =
      true;  // a stream whose codec shows only in its packets is found after a look at these
  if (number >= 0) {
    AVCodecParameters& is = *format_->streams[number]->codecpar;
    fill_in_flac(*format_, is);
    looks =
        !header_suffices(*format_, is) && (video || options_.look || !sound_suffices(*format_, is));
  }
  if (looks) {
    io_->begin_call();
    const int looked = avformat_find_stream_info(format_, nullptr);
    if (looked < 0) return failed(looked, "read its streams");
    number = av_find_best_stream(format_, type, options_.stream, -1, nullptr, 0);
  }
  const bool cover =
      number >= 0 && (format_->streams[number]->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
  if (number < 0 || cover) {
    const std::string what = video ? "video" : "audio";
    if (format_->nb_streams == 0 && !messages_.first.empty()) {
      return failed(AVERROR_INVALIDDATA, "find a stream in it");
    }
    if (format_->nb_streams == 0 && starts_with(format_->iformat->name, "mov,")) {
      return Error(Code::corrupt, "its table of contents (moov) is missing: the file is cut off")
          .in_file(source_->name());
    }
    return Error(Code::invalid_argument,
                 options_.stream < 0
                     ? "there is no " + what + " in it"
                     : "stream " + std::to_string(options_.stream) + " is not one of " + what)
        .in_file(source_->name());
  }
  stream_ = format_->streams[number];
  for (unsigned i = 0; i < format_->nb_streams; ++i) {
    format_->streams[i]->discard = int(i) == number ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
  }
  if (packets_are_frames(*format_, *stream_->codecpar)) format_->flags |= AVFMT_FLAG_NOPARSE;
  describe();
  const AVCodecParameters& is = *stream_->codecpar;
  if (video &&
      (is.width < 0 || is.height < 0 || std::int64_t(is.width) * is.height > options_.max_pixels)) {
    return Error(Code::out_of_range, "its pictures are " + std::to_string(is.width) + " x " +
                                         std::to_string(is.height) +
                                         " pixels, more than max_pixels allows")
        .in_file(source_->name());
  }
  return {};
}

void Demuxer::describe() {
  const AVCodecParameters& is = *stream_->codecpar;
  parameters_ = &is;
  tick_ = stream_->time_base;
  info_ = {};
  info_.number = stream_->index;
  info_.container = format_->iformat->name;
  info_.codec = avcodec_get_name(is.codec_id);
  info_.tick_num = stream_->time_base.num;
  info_.tick_den = stream_->time_base.den;
  info_.tick = av_q2d(stream_->time_base);
  info_.start = time_or_none(stream_->start_time);
  if (stream_->duration > 0) {
    info_.duration = double(stream_->duration) * info_.tick;
  } else if (format_->duration > 0) {
    info_.duration = double(format_->duration) / AV_TIME_BASE;
  }
  if (options_.kind == Kind::video) {
    info_.width = is.width;
    info_.height = is.height;
    if (stream_->avg_frame_rate.den > 0) info_.rate = av_q2d(stream_->avg_frame_rate);
    read_matrix(*stream_, info_);
    info_.interlaced = is.field_order != AV_FIELD_PROGRESSIVE && is.field_order != AV_FIELD_UNKNOWN;
    info_.reorders = PictureOrder::is_open(is);
    const AVCodecDescriptor* about = avcodec_descriptor_get(is.codec_id);
    info_.in_order = about != nullptr && (about->props & AV_CODEC_PROP_REORDER) == 0;
    info_.keys_hold =
        about != nullptr && ((about->props & AV_CODEC_PROP_INTRA_ONLY) != 0 || knows_keys(is));
    info_.alpha = has_alpha_beside(*stream_);
    info_.one_layer = has_one_layer(is);
    info_.samples = avformat_index_get_entries_count(stream_);
    return;
  }
  info_.sample_rate = is.sample_rate;
  info_.channels = is.ch_layout.nb_channels;
  char layout[64] = {};
  if (av_channel_layout_describe(&is.ch_layout, layout, sizeof layout) > 0) info_.layout = layout;
  info_.bits = is.bits_per_raw_sample > 0 ? is.bits_per_raw_sample : is.bits_per_coded_sample;
  info_.frame_size = is.frame_size;
  info_.pre_roll = is.seek_preroll;
  info_.alone = stands_alone(is);
  if (info_.container == "flac" && stream_->duration > 0) {
    info_.total = av_rescale_q(stream_->duration, stream_->time_base, {1, is.sample_rate});
  }
  if (info_.container == "mp3" && is.codec_id == AV_CODEC_ID_MP3) describe_mp3();
}

// What the encoder's tag says, which FFmpeg makes less of.
void Demuxer::describe_mp3() {
  const PacketPtr packet(av_packet_alloc());
  if (packet == nullptr) return;
  Mp3Frames frames(source_, *packet);
  if (!frames.open() || frames.first().sample_rate != info_.sample_rate) return;
  info_.total = frames.least();
  if (frames.knows_samples()) info_.duration = double(frames.samples()) / info_.sample_rate;
}

Result<bool> Demuxer::read(Packet& packet) {
  if (mp3_ != nullptr) return read_mp3(packet);
  if (stream_ == nullptr) {
    if (Status again = open(); !again) return std::move(again).error();
  }
  const Listening listening(messages_);
  do {
    av_packet_unref(packet_.get());
    io_->begin_call();
    const int got = av_read_frame(format_, packet_.get());
    if (got == AVERROR_EOF) {
      if (std::optional<Error> failure = io_->take_failure()) return *std::move(failure);
      return false;
    }
    if (got < 0) return failed(got, "read on");
  } while (packet_->stream_index != stream_->index || !leave_out_filling());
  packet = {};
  packet.pts = time_or_none(packet_->pts);
  // Matroska keeps no times of decoding. FFmpeg makes some up, of which pyramids of B-frames go
  // back.
  const bool made_up = info_.container.starts_with("matroska") && !info_.in_order;
  if (options_.kind == Kind::audio || !made_up) packet.dts = time_or_none(packet_->dts);
  packet.duration = packet_->duration;
  packet.pos = packet_->pos;
  packet.size = packet_->size;
  packet.key = (packet_->flags & AV_PKT_FLAG_KEY) != 0;
  packet.discard = (packet_->flags & AV_PKT_FLAG_DISCARD) != 0;
  packet.corrupt = (packet_->flags & AV_PKT_FLAG_CORRUPT) != 0;
  // The demuxer of raw DV fills up what the file lacks with what was there before.
  if (info_.container == "dv" && packet.pos >= 0) {
    packet.corrupt |= std::uint64_t(packet.pos + packet.size) > source_->size();
  }
  if (options_.kind == Kind::audio) {
    measure(packet);
    if (info_.container == "flac") place_flac(packet);
    if (info_.container == "mp3" && packet_->size >= 4) {
      packet.strange = mp3_header(packet_->data).size > std::uint64_t(packet_->size);
    }
    packet.celt = stream_->codecpar->codec_id == AV_CODEC_ID_OPUS && packet_->size > 0 &&
                  packet_->data[0] >> 3 >= 16;
    return true;
  }
  if (packet.key && info_.alpha) {
    packet.key = alpha_begins(*packet_, stream_->codecpar->codec_id);
  }
  packet.hidden = !io_->blank() && is_hidden(*packet_, stream_->codecpar->codec_id);
  return true;
}

// Bytes behind the last sample that make a length even are no damage. False: there is nothing else.
bool Demuxer::leave_out_filling() {
  const int block = stream_->codecpar->block_align;
  const bool in_blocks = info_.container == "wav" || info_.container == "w64";
  const bool alike = info_.codec.starts_with("pcm_") || info_.codec.starts_with("gsm");
  if (!in_blocks || !alike || block <= 0 || packet_->size % block == 0) return true;
  av_shrink_packet(packet_.get(), packet_->size - packet_->size % block);
  return packet_->size > 0;
}

// How many samples the packet holds, and how many of them are padding.
void Demuxer::measure(Packet& packet) const {
  AVCodecParameters& is = *stream_->codecpar;
  packet.samples = said_samples(*packet_, is);
  if (packet.samples <= 0 && !info_.alone) {
    packet.samples = av_rescale_q(packet_->duration, stream_->time_base, {1, is.sample_rate});
  }
  std::size_t size = 0;
  const std::uint8_t* skip =
      av_packet_get_side_data(packet_.get(), AV_PKT_DATA_SKIP_SAMPLES, &size);
  if (skip == nullptr || size < 8) return;
  const auto number = [skip](int at) {
    return std::int64_t(skip[at]) | std::int64_t(skip[at + 1]) << 8 |
           std::int64_t(skip[at + 2]) << 16 | std::int64_t(skip[at + 3]) << 24;
  };
  packet.skip_front = number(0);
  packet.skip_back = number(4);
}

// FFmpeg adds up what it finds, also where something is missing.
void Demuxer::place_flac(Packet& packet) const {
  const std::optional<FlacFrame> frame = flac_frame_of(*packet_, *stream_->codecpar);
  packet.strange = !frame;
  if (!frame) return;
  packet.samples = frame->samples;
  packet.first = frame->first.value_or(kNoTime);
}

void Demuxer::read_blank(bool blank) {
  io_->set_blank(blank);
}

Status Demuxer::seek(std::int64_t to, int flags) {
  if (stream_ == nullptr && mp3_ == nullptr) {
    if (Status again = open(); !again) return again;
  }
  const Listening listening(messages_);
  io_->begin_call();
  av_packet_unref(packet_.get());
  const int sought = av_seek_frame(format_, stream_->index, to, flags);
  if (sought < 0) return failed(sought, "seek");
  return {};
}

Status Demuxer::rewind() {
  options_.stream = info_.number;
  return open();
}

}  // namespace penstock::media::av
