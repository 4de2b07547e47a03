// FrameIndex: which packets a stream has, which of them are shown and in which order, and where
// decoding may begin. Made by demuxing alone where that tells everything.
//
// Packets are numbered as the file holds them, which is the order of decoding; frames as they are
// shown. Frame i is the i-th picture of a decoder that is given the stream from its beginning.
//
// Thread safety: never changes once made; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "media/av/av.h"
#include "media/video/parameters.h"
#include "penstock/error.h"
#include "storage/source.h"

namespace penstock::media {

struct IndexedPacket {
  static constexpr std::int64_t kMostBytes = (1 << 30) - 1;  // larger ones count as so many
  std::int64_t pts = av::kNoTime;
  std::int64_t dts = av::kNoTime;
  std::int64_t pos = -1;
  std::uint32_t place = 0;  // among all packets, in the order of presentation
  std::uint32_t size = 0;   // in bytes
  bool key = false;
  bool discard = false;
};

struct FrameIndex {
  std::vector<IndexedPacket> packets;
  std::vector<std::uint32_t> frames;  // the packet of each frame
  std::vector<double> times;          // of each frame, in seconds from the first one
  std::vector<std::uint32_t> keys;    // packets that are key frames
  double start = 0;                   // of the first frame, as the file counts
  double duration = 0;                // from the first frame to the end of the last
  int reorder = 0;                    // how many packets come before one that is shown earlier
  bool seekable = true;               // packets can be told apart after a seek
  bool by_bytes = false;              // MPEG-TS and PS: seeks go to the places of packets
  std::string damage;                 // what the container is damaged by; empty: nothing
  // Parameter sets and palettes of packets, where one of a packet's is another than before. Not all
  // packets may have been looked at: then the first tell whether others are to be suspected of
  // carrying any.
  std::vector<ParameterChange> changes;
  bool all_looked_at = true;
  bool carries_sets = false;

  // The last packet at or before `packet` where decoding of it may begin, as far as the container
  // tells. A picture that is shown before the key frame in front of it needs the one before that.
  std::uint32_t start_of(std::uint32_t packet) const noexcept;
  // The same, but before `start`; `start` itself if there is none.
  std::uint32_t start_before(std::uint32_t start) const noexcept;
  // The number of a packet that has just been read; negative: it is none of these, or, where seeks
  // go to places, only those before it tell.
  std::int64_t number_of(const av::Packet& packet) const noexcept;
  // May the packet that has come behind the one before `number` be that?
  bool may_be(std::uint32_t number, const av::Packet& packet) const noexcept;

 private:
  friend Result<FrameIndex> make_index(av::Input& input, bool blank);
  friend Result<FrameIndex> index_from(std::span<const std::byte> bytes, storage::Stamp stamp,
                                       const av::StreamInfo& stream);
  std::vector<std::uint32_t> by_pos_;  // packets, sorted by their place in the file
  void settle(const av::StreamInfo& stream);
};

// Reads the stream from where the input stands, which is its first packet, to the end; where the
// input stands after that is not known. `blank`: the container alone says all about packets, their
// bytes need not be read, but for those of the first packets. Where presentation times are missing,
// not distinct or not those of pictures, key frames are doubtful, or fields come apart, the stream
// is decoded once as well.
Result<FrameIndex> make_index(av::Input& input, bool blank);

// Is this an MP4 or QuickTime file whose tables come in one piece?
bool has_whole_tables(const storage::Source& source);
// Was this MP4 of fragments cut off inside of one? FFmpeg gives the packets before it, and says
// nothing.
bool ends_inside_a_fragment(const storage::Source& source);

}  // namespace penstock::media
