#include "media/audio/load.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "media/audio/flac.h"
#include "media/audio/samples.h"
#include "media/audio/wav.h"
#include "media/av/load.h"

namespace penstock::media {
namespace {

constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kOpusRate = 48000;
constexpr std::int64_t kWholePast = std::numeric_limits<std::int64_t>::max() / 4;

// How many samples before a part a decoder must be given so that the part is right.
std::int64_t past_of(const av::StreamInfo& stream, bool exact) {
  const std::string& codec = stream.codec;
  if (codec.starts_with("pcm_") || codec == "flac" || codec == "alac") return 0;
  if (codec == "mp3") return std::int64_t(32) * 1152;  // at most: see Reservoir
  // CELT's decoder forgets: after 0.7 s the bits of the samples are those of a full decode.
  if (exact && codec == "opus" && stream.container == "ogg") return 2 * kOpusRate;
  if (exact) return kWholePast;
  if (codec == "aac") return std::int64_t(4) * 2048;
  // Elsewhere only the decoder knows how much padding is in front.
  if (codec == "opus" && stream.container == "ogg") return std::int64_t(stream.sample_rate) / 4;
  return kWholePast;
}

// How many MP3 frames have to be decoded before a part: they borrow bytes from those before, up to
// 511, and what two frames before the part leave behind goes into its first samples.
class Reservoir {
 public:
  static constexpr std::int64_t kMost = 511, kBefore = 3;
  // Of a packet, at least: the rest is header, checksum and side information.
  static std::int64_t main_data(const av::Packet& packet) {
    return std::max<std::int64_t>(packet.size - 38, 1);
  }
  // Samples before the part, as far as the packets so far tell.
  std::int64_t past(const av::Packet& packet, std::int64_t most) {
    smallest_ = std::min(smallest_, main_data(packet));
    return std::min(most, (kBefore + (kMost + smallest_ - 1) / smallest_) * packet.samples);
  }
  void fed(const av::Packet& packet) { fed_ += main_data(packet); }
  bool full() const noexcept { return fed_ >= kMost; }

 private:
  std::int64_t smallest_ = kEndless, fed_ = 0;
};

// Are times exact to the sample, so that a seek tells where it has led?
bool times_are_exact(const av::StreamInfo& stream) {
  return stream.tick_num == 1 && stream.tick_den == stream.sample_rate &&
         (stream.container == "wav" || stream.container == "flac");
}

// One pass over a part of a stream.
class Pass {
 public:
  // `looked`: the stream's rate was seen in its packets, not only in the header.
  Pass(av::Input& input, const AudioOptions& options, const std::string& name, bool looked)
      : input_(input),
        options_(options),
        name_(name),
        looked_(looked),
        stream_(input.stream()),
        first_(std::llrint(options.start * stream_.sample_rate)),
        end_(options.duration
                 ? std::llrint((options.start + *options.duration) * stream_.sample_rate)
                 : kEndless) {}

  // False: packets are not what they or the header say; look at the stream, and decode `all`.
  Result<bool> run(bool all);
  Result<Audio> finish();

 private:
  // What a packet that was sent holds, as it says itself.
  struct Span {
    std::int64_t at = 0, samples = 0;  // where it begins, and how many there are
    std::int64_t front = 0, back = 0;  // how many are padding
  };

  Status go(std::int64_t past);
  bool settles(const av::Packet& packet, bool near);
  void note_damage();
  void note_gap(const av::Packet& packet, std::int64_t at);
  bool is_lost(std::int64_t tag) const;
  Result<bool> take_sounds();
  Status take(const av::Sound& sound, std::int64_t at, std::int64_t from, std::int64_t to);
  Status begin(const av::Sound& sound);
  Span span_of(const av::Packet& packet);
  Span measured(const av::Sound& sound);
  Error at_time(Code code, const std::string& what) const;

  av::Input& input_;
  const AudioOptions& options_;
  const std::string& name_;
  const bool looked_;
  const av::StreamInfo& stream_;
  std::int64_t first_, end_;
  bool all_ = false;
  bool anywhere_ = false;           // after a seek: the next packet says where it is
  std::int64_t at_ = 0;             // of the next packet; when all are decoded: of the next sample
  std::int64_t skip_ = 0;           // samples still to be left out
  std::int64_t tag_ = 0;            // of the next packet that is sent
  std::int64_t got_tag_ = -1;       // of the last sound that came back
  std::int64_t damages_heard_ = 0;  // when it came
  std::vector<Span> spans_;         // of the packets sent, by tag
  int rate_ = 0, channels_ = 0;
  std::unique_ptr<av::Resampler> resampler_;
  std::optional<SampleBlock> block_;
  Reservoir reservoir_;
  bool ended_ = false;                // the file has
  bool skipped_ = false;              // packets were not decoded
  std::int64_t damages_before_ = -1;  // those of a decoder that began in the middle; -1: not there
  std::int64_t damaged_at_ = -1;      // the sample where damage was first found; -1: nowhere
  std::int64_t follows_ = av::kNoTime;  // FLAC: where the next frame has to begin
  std::int64_t damages_seen_ = 0;
  std::int64_t gaps_ = 0;   // places where something is missing, of which the decoder said nothing
  std::int64_t taken_ = 0;  // samples of the file that went into the result
  std::optional<Error> failure_;
};

Error Pass::at_time(Code code, const std::string& what) const {
  char text[48];
  std::snprintf(text, sizeof text, "at %.3f s: ", double(at_) / stream_.sample_rate);
  return Error(code, text + what).in_file(name_);
}

Pass::Span Pass::span_of(const av::Packet& packet) {
  if (all_) return {};  // what comes out will tell
  skip_ += packet.skip_front;
  const std::int64_t front = std::min(skip_, packet.samples);
  skip_ -= front;
  if (packet.discard) return {at_, 0, 0, 0};
  return {at_, packet.samples, front, std::min(packet.skip_back, packet.samples - front)};
}

// Of a pass that decodes everything: what the decoder says.
Pass::Span Pass::measured(const av::Sound& sound) {
  skip_ += sound.skip_front;
  const std::int64_t front = std::min(skip_, sound.samples);
  skip_ -= front;
  return {at_, sound.samples, front, std::min(sound.skip_back, sound.samples - front)};
}

// Goes to where decoding has to begin, if there is a short way.
Status Pass::go(std::int64_t past) {
  const std::int64_t wanted = first_ - past;
  if (!times_are_exact(stream_) || wanted < stream_.sample_rate) return {};
  anywhere_ = input_.seek(wanted).ok();
  if (anywhere_) return {};
  return input_.rewind();
}

// Of a packet that is decoded after others were left out: will the part be right? `near`: what this
// one gives reaches into it.
bool Pass::settles(const av::Packet& packet, bool near) {
  if (stream_.codec == "opus") return packet.celt || !options_.exact;
  if (stream_.codec != "mp3") return true;
  const bool first = near && damages_before_ < 0;
  if (!near) reservoir_.fed(packet);
  return !first || reservoir_.full();
}

Result<bool> Pass::run(bool all) {
  std::int64_t past = all ? kWholePast : past_of(stream_, options_.exact);
  all_ = past == kWholePast;
  if (Status gone = go(past); !gone) return std::move(gone).error();
  av::Packet packet;
  while (at_ < end_) {
    Result<bool> more = input_.read(packet);
    if (!more) {
      failure_ = at_time(more.error().code(), more.error().message());
      break;
    }
    if (!*more) {
      ended_ = true;
      break;
    }
    if (packet.corrupt) {
      failure_ = at_time(Code::corrupt, "the file ends inside a packet, or is damaged there");
      break;
    }
    if (times_are_exact(stream_) && packet.pts != av::kNoTime && !all_) {
      // Packets that overlap or leave a gap: only what comes out tells how long they are.
      if (packet.pts != at_ && !anywhere_) return false;
      at_ = packet.pts, anywhere_ = false;
    }
    if (!all_ && (packet.strange || (packet.first != av::kNoTime && packet.first != at_))) {
      return false;
    }
    const Span span = span_of(packet);
    if (!all_ && span.samples == 0 && !packet.discard) return false;
    const std::int64_t after = span.at + span.samples - span.front - span.back;
    if (!all_ && stream_.codec == "mp3") past = reservoir_.past(packet, past_of(stream_, true));
    const bool needed = all_ || after > first_ - past;
    const bool near = all_ || after > first_ - 2 * span.samples;
    if (!all_) at_ = after;
    if (!needed) {
      skipped_ = true;
      continue;
    }
    if (skipped_ && !settles(packet, near)) return false;
    if (near && damages_before_ < 0) damages_before_ = input_.damages();
    spans_.push_back(span);
    const std::int64_t at = at_;
    if (Status sent = input_.send(tag_++, av::Wanted::picture); !sent) {
      return std::move(sent).error();
    }
    note_damage();
    Result<bool> as_said = take_sounds();
    if (!as_said || !*as_said) return as_said;
    if (all_) note_gap(packet, at);
  }
  // Times of packets may be rounded, so that the end seems to come before the part.
  if (skipped_ && spans_.empty()) return false;
  if (Status drained = input_.drain(); !drained) return std::move(drained).error();
  Result<bool> as_said = take_sounds();
  if (!as_said || !*as_said) return as_said;
  const bool short_of = ended_ && at_ < stream_.total;
  if (!all_) return !short_of && !is_lost(tag_);
  if (short_of && input_.damages() + gaps_ == 0) {
    gaps_ = 1;
    damaged_at_ = at_;
  }
  return true;
}

// Where damage is found first: behind the sounds that came before it, also out of the same packet.
void Pass::note_damage() {
  if (damages_before_ < 0 || damaged_at_ >= 0 || input_.damages() <= damages_before_) return;
  damaged_at_ = all_ ? at_ : spans_.back().at;
}

// FLAC: the decoder does not notice frames that are missing, nor short packets that are none.
void Pass::note_gap(const av::Packet& packet, std::int64_t at) {
  const bool follows =
      follows_ == av::kNoTime || packet.first == av::kNoTime || packet.first == follows_;
  const bool heard = input_.damages() != damages_seen_;  // of this or of what came since the last
  if ((packet.strange || !follows) && !heard) {
    ++gaps_;
    if (damaged_at_ < 0) damaged_at_ = at;
  }
  damages_seen_ = input_.damages();
  follows_ = packet.first == av::kNoTime ? av::kNoTime : packet.first + packet.samples;
}

// Has a packet before that of `tag` given nothing, without a word of damage?
bool Pass::is_lost(std::int64_t tag) const {
  return tag != got_tag_ + 1 && input_.damages() == damages_heard_;
}

Result<bool> Pass::take_sounds() {
  av::Sound sound;
  for (;;) {
    Result<bool> got = input_.receive(sound);
    if (!got) return got;
    note_damage();
    if (!*got) return true;
    if (!looked_ && sound.sample_rate != stream_.sample_rate) return false;
    // A damaged packet may give two sounds.
    const bool known = sound.tag > got_tag_ && sound.tag < std::int64_t(spans_.size());
    if (!all_ && (!known || is_lost(sound.tag))) return false;
    got_tag_ = sound.tag;
    damages_heard_ = input_.damages();
    Span span = all_ ? measured(sound) : spans_[std::size_t(sound.tag)];
    if (sound.discard) continue;
    if (sound.samples != span.samples) return false;
    const std::int64_t front = span.front;
    const std::int64_t keep = std::max<std::int64_t>(sound.samples - front - span.back, 0);
    const std::int64_t begins = all_ ? at_ : span.at;
    const std::int64_t from = std::max(first_, begins), to = std::min(end_, begins + keep);
    if (from < to) {
      if (Status taken = take(sound, begins - front, from, to); !taken) {
        return std::move(taken).error();
      }
    }
    if (all_) at_ += keep;
  }
}

Status Pass::begin(const av::Sound& sound) {
  rate_ = sound.sample_rate, channels_ = sound.channels;
  for (const int one : options_.select) {
    if (one >= 0 && one < channels_) continue;
    return Error(Code::out_of_range, "there is no channel " + std::to_string(one) + ": it has " +
                                         std::to_string(channels_))
        .in_file(name_);
  }
  av::SampleForm form;
  form.sample_rate = options_.sample_rate;
  form.channels = options_.channels;
  form.floating = options_.dtype == DType::float32;
  Result<std::unique_ptr<av::Resampler>> made = input_.resampler(form);
  if (!made) return std::move(made).error().in_file(name_);
  resampler_ = *std::move(made);
  block_.emplace(options_.dtype, form.channels > 0 ? form.channels : channels_);
  const double left = std::min(std::max(stream_.duration - options_.start, 0.0), 600.0);
  const double seconds = options_.duration ? std::min(*options_.duration, 600.0) : left;
  const int rate = form.sample_rate > 0 ? form.sample_rate : rate_;
  // No more than it will be, if that is known: rows with a gap between them have to be moved.
  const bool known = options_.duration.has_value() || stream_.exact_duration;
  const bool slack = !known || rate != rate_ || form.channels > 0 || !form.floating;
  return block_->reserve(std::llround(seconds * rate) + (slack ? 4096 : 0));
}

// Samples `from` to `to` of the stream; the sound's first one is number `at`.
Status Pass::take(const av::Sound& sound, std::int64_t at, std::int64_t from, std::int64_t to) {
  if (!resampler_) {
    if (Status begun = begin(sound); !begun) return begun;
  }
  if (sound.sample_rate != rate_ || sound.channels != channels_) {
    return at_time(Code::unsupported, "the sample rate or the number of channels changes");
  }
  const std::int64_t count = to - from, room = resampler_->room(count);
  auto rows = block_->room(room);
  if (!rows) return std::move(rows).error();
  const Result<std::int64_t> made = resampler_->convert(from - at, count, rows->data(), room);
  if (!made) return made.error();
  block_->took(*made);
  taken_ += count;
  return {};
}

Result<Audio> Pass::finish() {
  if (failure_ && !options_.partial) return *std::move(failure_);
  Audio audio;
  audio.damaged = input_.damages() - std::max<std::int64_t>(damages_before_, 0) + gaps_;
  if (options_.strict && audio.damaged > 0) {
    at_ = damaged_at_ >= 0 ? damaged_at_ : at_;
    const std::string& said = input_.damage();
    return at_time(Code::corrupt,
                   "the sound is damaged: " + (said.empty() ? "frames are missing" : said));
  }
  audio.sample_rate = options_.sample_rate > 0 ? options_.sample_rate : stream_.sample_rate;
  audio.start = double(first_) / stream_.sample_rate;
  audio.failure = std::move(failure_);
  if (!block_) {
    const int channels = options_.channels > 0 ? options_.channels : stream_.channels;
    if (first_ > 0) {
      return Error(Code::out_of_range,
                   "the sound ends before " + std::to_string(options_.start) + " s")
          .in_file(name_);
    }
    block_.emplace(options_.dtype, channels);
  } else {
    const std::int64_t room = resampler_->room(0);
    auto rows = block_->room(room);
    if (!rows) return std::move(rows).error();
    const Result<std::int64_t> rest = resampler_->finish(rows->data(), room);
    if (!rest) return rest.error();
    block_->took(*rest);
    // As many as the part is long, however the filter rounds.
    if (audio.sample_rate != rate_) {
      block_->cut((taken_ * audio.sample_rate + rate_ - 1) / rate_);
    }
  }
  Result<Tensor> samples = block_->take();
  if (!samples) return std::move(samples).error();
  audio.samples = *std::move(samples);
  return audio;
}

// The channels asked for, each a copy.
Result<Tensor> selected(const Tensor& samples, const std::vector<int>& select) {
  Result<Tensor> made =
      Tensor::empty(samples.dtype(), {std::int64_t(select.size()), samples.shape()[1]});
  if (!made) return made;
  const std::size_t bytes = std::size_t(samples.shape()[1]) * size_of(samples.dtype());
  for (std::size_t i = 0; i < select.size() && bytes > 0; ++i) {
    std::memcpy(made->raw() + i * bytes, samples.raw() + std::size_t(select[i]) * bytes, bytes);
  }
  return made;
}

template <class T>
Result<Tensor> transposed(const Tensor& samples) {
  const std::int64_t channels = samples.shape()[0], count = samples.shape()[1];
  Result<Tensor> made = Tensor::empty(samples.dtype(), {count, channels});
  if (!made) return made;
  const T* from = samples.data<T>();
  T* to = made->data<T>();
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t i = 0; i < count; ++i) to[i * channels + c] = from[c * count + i];
  }
  return made;
}

// All channels of the file, as the options want them.
Result<Audio> in_form(Audio audio, const AudioOptions& options) {
  if (!options.select.empty()) {
    Result<Tensor> some = selected(audio.samples, options.select);
    if (!some) return std::move(some).error();
    audio.samples = *std::move(some);
  }
  if (!options.channels_first) {
    Result<Tensor> turned = options.dtype == DType::float32
                                ? transposed<float>(audio.samples)
                                : transposed<std::int16_t>(audio.samples);
    if (!turned) return std::move(turned).error();
    audio.samples = *std::move(turned);
  }
  return audio;
}

Result<std::unique_ptr<av::Input>> open_sound(std::shared_ptr<const storage::Source> source,
                                              int stream, bool look) {
  const Result<av::Library*> library = av::library();
  if (!library) return library.error();
  av::InputOptions wanted;
  wanted.kind = av::Kind::audio;
  wanted.stream = stream;
  wanted.look = look;
  if (storage::is_url(source->name())) wanted.buffer = 1 << 18;
  return (*library)->open(std::move(source), wanted);
}

}  // namespace

Status check(const AudioOptions& options) {
  const auto bad = [](const char* text) { return Error(Code::invalid_argument, text); };
  constexpr double kMost = 1e9;  // seconds
  if (!(options.start >= 0) || options.start > kMost) return bad("start must be 0 or more");
  if (options.duration && (!(*options.duration > 0) || *options.duration > kMost)) {
    return bad("duration must be more than 0");
  }
  if (options.sample_rate < 0 || options.sample_rate > 1 << 22) {
    return bad("sample_rate must be a number of samples a second");
  }
  if (options.channels < 0 || options.channels > SampleBlock::kMostChannels) {
    return bad("channels must be 1 to 64");
  }
  if (options.channels > 0 && !options.select.empty()) {
    return bad("channels is a number or a list of channels, not both");
  }
  if (options.dtype != DType::float32 && options.dtype != DType::int16) {
    return bad("dtype must be float32 or int16");
  }
  return {};
}

Result<AudioInfo> audio_info(std::shared_ptr<const storage::Source> source, int stream) {
  Result<std::optional<WavHeader>> wav = read_wav_header(*source);
  if (!wav) return std::move(wav).error();
  if (*wav && stream <= 0) return info_of(**wav);
  Result<std::unique_ptr<av::Input>> input = open_sound(std::move(source), stream, true);
  if (!input) return std::move(input).error();
  const av::StreamInfo& is = (*input)->stream();
  AudioInfo info;
  info.container = is.container;
  info.codec = is.codec;
  info.sample_rate = is.sample_rate;
  info.channels = is.channels;
  info.layout = is.layout;
  info.bits = is.bits;
  info.duration = is.duration;
  return info;
}

Result<Audio> load_audio(std::shared_ptr<const storage::Source> source,
                         const AudioOptions& options) {
  if (Status fine = check(options); !fine) return std::move(fine).error();
  Result<std::optional<WavHeader>> wav = read_wav_header(*source);
  if (!wav) return std::move(wav).error();
  if (*wav && wav_gives(**wav, options)) return load_wav(*source, **wav, options);
  Result<std::optional<Audio>> flac = load_flac(source, options);
  if (!flac) return std::move(flac).error();
  if (*flac) return in_form(**std::move(flac), options);
  Result<std::unique_ptr<av::Input>> input = open_sound(source, options.stream, false);
  if (!input) return std::move(input).error();
  if ((*input)->stream().sample_rate <= 0) {
    return Error(Code::corrupt, "it has no sample rate").in_file(source->name());
  }
  std::optional<Pass> pass(std::in_place, **input, options, source->name(), false);
  Result<bool> as_said = pass->run(false);
  if (!as_said) return std::move(as_said).error();
  if (!*as_said) {
    input = open_sound(source, options.stream, true);
    if (!input) return std::move(input).error();
    pass.emplace(**input, options, source->name(), true);
    as_said = pass->run(true);
    if (!as_said) return std::move(as_said).error();
  }
  Result<Audio> audio = pass->finish();
  if (!audio) return audio;
  return in_form(*std::move(audio), options);
}

}  // namespace penstock::media

namespace penstock {

Result<AudioInfo> audio_info(const std::string& name, int stream) {
  Result<std::shared_ptr<const storage::Source>> source = storage::open_source(name);
  if (!source) return std::move(source).error();
  return media::audio_info(*std::move(source), stream);
}

Result<AudioInfo> audio_info(std::span<const std::byte> bytes, int stream) {
  return media::audio_info(storage::source_over(bytes, ""), stream);
}

Result<Audio> load_audio(const std::string& name, const AudioOptions& options) {
  Result<std::shared_ptr<const storage::Source>> source = storage::open_source(name);
  if (!source) return std::move(source).error();
  return media::load_audio(*std::move(source), options);
}

Result<Audio> load_audio(std::span<const std::byte> bytes, const AudioOptions& options) {
  return media::load_audio(storage::source_over(bytes, ""), options);
}

}  // namespace penstock
