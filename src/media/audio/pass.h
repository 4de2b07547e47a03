// One pass over the packets of a sound, for the library's own use: decodes a part of it, and tells
// when the part has to be had in another way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "media/audio/part.h"
#include "media/audio/samples.h"
#include "media/av/av.h"
#include "penstock/audio.h"
#include "storage/source.h"

namespace penstock::media {

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

// One pass over a part of a stream.
class Pass {
 public:
  // `looked`: the stream's rate was seen in its packets, not only in the header.
  Pass(av::Input& input, const AudioOptions& options, const storage::Source& source, bool looked)
      : input_(input),
        options_(options),
        source_(source),
        name_(source.name()),
        looked_(looked),
        stream_(input.stream()),
        part_(part_of(options, stream_.sample_rate)),
        first_(part_.first),
        end_(part_.end) {}

  // False: packets are not what they or the header say; look at the stream, and decode `all`.
  Result<bool> run(bool all);
  Result<Audio> finish();
  // Of the whole sound; negative: the pass did not come to its end.
  std::int64_t total() const noexcept { return ended_ && !anywhere_ ? at_ : -1; }

 private:
  // What a packet that was sent holds, as it says itself.
  struct Span {
    std::int64_t at = 0, samples = 0;  // where it begins, and how many there are
    std::int64_t front = 0, back = 0;  // how many are padding
  };

  Status go(std::int64_t past);
  bool settles(const av::Packet& packet, bool near);
  void note_damage();
  void note_silence(const av::Packet& packet, std::int64_t at, std::int64_t damages);
  void note_gap(const av::Packet& packet, std::int64_t at);
  void note_container();
  bool is_lost(std::int64_t tag) const;
  Result<bool> take_sounds();
  Status take(const av::Sound& sound, std::int64_t at, std::int64_t from, std::int64_t to);
  Status begin(const av::Sound& sound);
  bool is_uneven(const av::Packet& packet);
  Span span_of(const av::Packet& packet);
  Span measured(const av::Sound& sound);
  Error at_time(Code code, const std::string& what) const;

  av::Input& input_;
  const AudioOptions& options_;
  const storage::Source& source_;
  const std::string name_;
  const bool looked_;
  const av::StreamInfo& stream_;
  const Part part_;
  const std::int64_t first_, end_;
  bool all_ = false;
  bool anywhere_ = false;           // after a seek: the next packet says where it is
  std::int64_t at_ = 0;             // of the next packet; when all are decoded: of the next sample
  std::int64_t each_ = 0;           // AAC: samples of a packet; 0: none has come
  std::int64_t page_ = -1;          // Ogg: where the page of the packet last sent begins
  std::int64_t silent_page_ = -1;   // that of a packet that gave nothing,
  std::int64_t silent_ = 0;         // and the samples that it should have given
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
  std::string missing_;     // what is, if more is known
  std::int64_t taken_ = 0;  // samples of the file that went into the result
  std::optional<Error> failure_;
};

}  // namespace penstock::media
