#include "media/audio/pass.h"

#include <cstdio>
#include <utility>

#include "media/audio/ending.h"

namespace penstock::media {
namespace {

constexpr std::int64_t kOpusRate = 48000;
constexpr std::int64_t kWholePast = std::numeric_limits<std::int64_t>::max() / 4;

// How many samples before a part a decoder must be given so that the part is right.
std::int64_t past_of(const av::StreamInfo& stream, bool exact) {
  const std::string& codec = stream.codec;
  if (stream.alone) return 0;
  if (codec == "mp3") return std::int64_t(32) * 1152;  // at most: see Reservoir
  // CELT's decoder forgets: after 0.7 s the bits of the samples are those of a full decode.
  if (exact && codec == "opus" && stream.container == "ogg") return 2 * kOpusRate;
  if (exact) return kWholePast;
  if (codec == "aac") return std::int64_t(4) * 2048;
  // Elsewhere only the decoder knows how much padding is in front.
  if (codec == "opus" && stream.container == "ogg") return std::int64_t(stream.sample_rate) / 4;
  return kWholePast;
}

// Are times exact to the sample, so that a seek tells where it has led?
bool times_are_exact(const av::StreamInfo& stream) {
  return stream.tick_num == 1 && stream.tick_den == stream.sample_rate &&
         (stream.container == "wav" || stream.container == "flac");
}

}  // namespace

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
  const std::int64_t back = sound.skip_back - (page_ == silent_page_ ? silent_ : 0);
  return {at_, sound.samples, front, std::clamp<std::int64_t>(back, 0, sound.samples - front)};
}

// Vorbis: the first packet gives nothing, or what is to be left out. Ogg says how many samples
// there are before the end of a page; where the first packet and the last are on one, FFmpeg counts
// both, and so calls too many samples padding.
void Pass::note_silence(const av::Packet& packet, std::int64_t at, std::int64_t damages) {
  if (stream_.container != "ogg" || stream_.codec != "vorbis") return;
  if (at_ != at || damages != input_.damages()) return;
  silent_page_ = packet.pos, silent_ = packet.samples;
}

// AAC: all packets hold as many samples. Edit lists shorten what the container says of some, and
// what is left out is not measured.
bool Pass::is_uneven(const av::Packet& packet) {
  if (stream_.codec != "aac" || packet.discard) return false;
  if (each_ == 0) each_ = packet.samples;
  return packet.samples != each_;
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
      if (said_end(source_, stream_.container) == SaidEnd::beyond) {
        failure_ = at_time(Code::corrupt, "the file ends, though its header tells of more");
      }
      break;
    }
    if (packet.corrupt && said_end(source_, stream_.container) != SaidEnd::nowhere) {
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
    if (!all_ && is_uneven(packet)) return false;
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
    const std::int64_t at = at_, damages = input_.damages();
    page_ = packet.pos;
    if (Status sent = input_.send(tag_++, av::Wanted::picture); !sent) {
      return std::move(sent).error();
    }
    note_damage();
    Result<bool> as_said = take_sounds();
    if (!as_said || !*as_said) return as_said;
    if (all_) note_gap(packet, at), note_silence(packet, at, damages);
  }
  // Times of packets may be rounded, so that the end seems to come before the part.
  if (skipped_ && spans_.empty()) return false;
  if (Status drained = input_.drain(); !drained) return std::move(drained).error();
  Result<bool> as_said = take_sounds();
  if (!as_said || !*as_said) return as_said;
  note_container();
  const bool short_of = ended_ && at_ < stream_.total;
  if (!all_) return !short_of && !is_lost(tag_);
  if (short_of && input_.damages() + gaps_ == 0) {
    gaps_ = 1;
    damaged_at_ = at_;
    missing_ = "the file ends, though its header tells of more";
  }
  return true;
}

// Where damage is found first: behind the sounds that came before it, also out of the same packet.
void Pass::note_damage() {
  if (damages_before_ < 0 || damaged_at_ >= 0 || input_.damages() <= damages_before_) return;
  damaged_at_ = all_ ? at_ : spans_.back().at;
}

// FLAC: the decoder does not notice frames that are missing, nor short packets that are none. MP3:
// nor that the file ends inside a frame, if the rest makes some sense.
void Pass::note_gap(const av::Packet& packet, std::int64_t at) {
  const bool follows =
      follows_ == av::kNoTime || packet.first == av::kNoTime || packet.first == follows_;
  const bool heard = input_.damages() != damages_seen_;  // of this or of what came since the last
  if ((packet.strange || !follows) && !heard) {
    ++gaps_;
    if (damaged_at_ < 0) damaged_at_ = at;
    if (stream_.codec == "mp3") missing_ = "the file ends inside a frame";
  }
  damages_seen_ = input_.damages();
  follows_ = packet.first == av::kNoTime ? av::kNoTime : packet.first + packet.samples;
}

// A file that ends early gives no packet that is damaged, only fewer of them.
void Pass::note_container() {
  std::string said;
  if (stream_.container.starts_with("matroska")) said = input_.complaint();
  if (ended_ && said.empty()) said = early_end(source_, stream_.container);
  if (said.empty() && got_tag_ < 0 && total() == 0 && stream_.duration > 0 &&
      input_.damages() == 0) {
    said = "nothing of it can be decoded";
  }
  if (said.empty()) return;
  ++gaps_;
  missing_ = std::move(said);
  if (damaged_at_ < 0) damaged_at_ = at_;
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
  if (rate_ != stream_.sample_rate) {
    ++gaps_;
    missing_ =
        "it has " + std::to_string(rate_) + " samples a second, not as many as its header says";
    if (damaged_at_ < 0) damaged_at_ = at_;
  }
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
    const std::string& said = input_.damage().empty() ? missing_ : input_.damage();
    return at_time(Code::corrupt,
                   "the sound is damaged: " + (said.empty() ? "frames are missing" : said));
  }
  const bool resamples = options_.sample_rate > 0;
  audio.sample_rate = resamples ? options_.sample_rate : stream_.sample_rate;
  audio.start = double(first_) / stream_.sample_rate;
  audio.failure = std::move(failure_);
  if (!block_) {
    const int channels = options_.channels > 0 ? options_.channels : stream_.channels;
    if (first_ > 0 && first_ < end_) {
      return Error(Code::out_of_range,
                   "the sound ends before " + std::to_string(options_.start) + " s")
          .in_file(name_);
    }
    block_.emplace(options_.dtype, channels);
  } else {
    // As many as the part is long, however the filter rounds.
    const std::int64_t count =
        resamples ? made_of(taken_, part_, rate_, audio.sample_rate) : taken_;
    const std::int64_t left = std::max<std::int64_t>(count - block_->size(), 0);
    const std::int64_t room = std::max(resampler_->room(0), left);
    auto rows = block_->room(room);
    if (!rows) return std::move(rows).error();
    const Result<std::int64_t> rest = resampler_->finish(rows->data(), room, left);
    if (!rest) return rest.error();
    block_->took(*rest);
    block_->cut(count);
  }
  Result<Tensor> samples = block_->take();
  if (!samples) return std::move(samples).error();
  audio.samples = *std::move(samples);
  return audio;
}

}  // namespace penstock::media
