// FrameReader: pictures of a stream by their numbers, each equal to what a decode from the
// beginning gives.
//
// Numbers are sorted into runs: from a place where decoding may begin to the last picture that is
// wanted. One run is one seek and one pass; what nobody asked for and nobody refers to is not
// decoded.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "media/av/av.h"
#include "media/video/index.h"
#include "penstock/error.h"

namespace penstock::media {

// Takes pictures, in whatever order they come.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // `which` is the place in the list of numbers that was asked for. The picture is the one last
  // received from `input`. An Error ends the reading.
  virtual Status take(std::size_t which, const av::Picture& picture, av::Input& input) = 0;
};

struct ReadOptions {
  bool strict = false;   // damage that the decoder has noticed is an Error
  bool partial = false;  // go on after a picture that cannot be had
};

struct ReadReport {
  std::vector<bool> there;       // of the numbers: which pictures were taken
  std::vector<bool> damaged;     // and which of these show, or follow, damage
  std::optional<Error> failure;  // of the first that was not; only when partial
  int restarts = 0;              // runs that had to begin earlier than the container says
};

class FrameReader {
 public:
  FrameReader(std::unique_ptr<av::Input> input, FrameIndex index, std::string name)
      : input_(std::move(input)), index_(std::move(index)), name_(std::move(name)) {
    input_->expect_reorder(index_.reorder);
    carries_sets_ = index_.carries_sets;
  }

  const FrameIndex& index() const noexcept { return index_; }
  av::Input& input() noexcept { return *input_; }

  // Numbers in any order, also twice; all below the number of frames (else out_of_range).
  Result<ReadReport> read(std::span<const std::int64_t> numbers, const ReadOptions& options,
                          FrameSink& sink);
  // What pictures look like, without decoding one where the decoder can do that: format, bits and
  // alpha.
  Result<av::Picture> look();
  // "frame 17 (0.567 s): ..."
  Error at_frame(Code code, std::size_t frame, const std::string& what) const;

 private:
  struct Run;
  struct Pass;

  std::vector<Run> plan(std::span<const std::int64_t> numbers) const;
  Status attempt(Pass& pass, const Run& run, std::uint32_t start);
  Status settle_doubt(Pass& pass, const Run& run);
  Status decode_all(Pass& pass, const Run& run, std::uint32_t start);
  Status decode(Pass& pass, const Run& run, std::uint32_t start);
  void note_damage(Pass& pass, std::uint32_t number, std::int64_t before) const;
  std::uint32_t needed_from(const Pass& pass, std::uint32_t packet) const;
  bool is_damaged(const Pass& pass, std::uint32_t packet) const;
  bool says_too_little(const Pass& pass, const Run& run, const Status& done) const;
  Error damaged_frame(const Pass& pass, std::size_t which) const;
  Status judge(Pass& pass, const Run& run) const;
  Status take_pictures(Pass& pass, const Run& run);
  void begin_at(std::uint32_t start);
  ParameterSets sets_before(std::uint32_t key);
  Status fetch(std::uint32_t packet);
  Status seek_before(std::uint32_t packet);
  bool seek_by_bytes(std::uint32_t packet);
  Result<bool> read_next(av::Packet& packet);

  std::unique_ptr<av::Input> input_;
  FrameIndex index_;
  std::string name_;
  std::int64_t held_ = -1;  // the packet last read
  bool held_is_corrupt_ = false;
  std::int64_t next_ = -1;                       // the one that comes next; negative: not known
  bool sought_ = false;                          // since the input was last at its beginning
  bool misled_ = false;                          // seeks do not lead to what was there before
  bool carries_sets_ = false;                    // others may, too, by those that have been seen
  std::map<std::uint32_t, ParameterSets> sets_;  // that hold after key frames, found on the way
  bool begins_earlier_ = false;  // starts that are not clean have been found to mislead the decoder
};

}  // namespace penstock::media
