// From members to samples: neighbours with one key make a sample. Knows nothing of files.
//
// Damage costs the sample that it belongs to, and no more. Which one that is: the one whose key the
// damaged header still shows; or the one that goes on behind the damage; or the neighbour that
// lacks a field which the first sound sample has. If none of these, a whole sample was lost, and
// one without members takes its place. So every damage makes a bad sample: nothing vanishes
// silently. Damage may be wider than it looks: both its neighbours are bad if they lack a field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::formats::tar {

enum class Trouble : std::uint8_t {
  none = 0,
  damaged = 1,    // a header was destroyed: members are missing
  cut = 2,        // the file ends inside a member
  duplicate = 3,  // its key was there before
  too_large = 4,  // a member is larger than the limit (when streaming; an index does not mind)
};

struct Part {
  std::uint16_t field = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t hash = 0;
};

struct Sample {
  std::string key;
  std::vector<Part> parts;
  std::uint64_t start = 0;  // of its first header
  Trouble trouble = Trouble::none;
  std::uint64_t trouble_at = 0;

  void spoil(Trouble what, std::uint64_t at) noexcept {
    if (trouble != Trouble::none) return;
    trouble = what;
    trouble_at = at;
  }
};

class Samples {
 public:
  // A member: part of the open sample, or the first of a new one, which closes the one before.
  void add(std::string_view key, const Part& part, std::uint64_t start);
  void damage(std::string_view key, std::uint64_t at);
  // No more members. `cut_at`: the tar ended there without its mark, so a sample that lacks a field
  // at the end was cut.
  void finish(std::optional<std::uint64_t> cut_at = std::nullopt);

  // The sample that members are added to; there is one after add().
  Sample& open() noexcept { return open_; }
  bool is_open() const noexcept { return is_open_; }
  void abandon() noexcept;  // what is not finished will not be

  // The next finished sample, in order. `into` gives its memory in exchange.
  bool take(Sample& into);

  // Where the oldest sample that was not taken yet begins; none: `otherwise`.
  std::uint64_t oldest(std::uint64_t otherwise) const noexcept;

 private:
  struct Gap {
    std::uint64_t at = 0;
    std::string key;
    bool has_owner = false;  // a sample was spoiled for it: none was lost as a whole
  };
  struct Finished {
    Sample sample;
    std::vector<Gap> before;  // damage in front of it: the last may be its own
    bool gap_behind = false;  // the first in front of the next sample may be its own, too
  };

  void begin(std::string_view key, std::uint64_t start);
  void close();
  void push(Sample& sample, std::vector<Gap> before, bool gap_behind);
  void learn_from_all();
  void decide();
  static Sample lost_at(const Gap& gap);
  bool lacks_a_field(const Sample& sample) const noexcept;

  Sample open_;
  bool is_open_ = false;
  std::vector<Gap> gaps_;    // damage behind the open sample, one for each name
  std::vector<Gap> before_;  // damage in front of it
  std::vector<std::uint16_t> usual_;
  bool usual_known_ = false;
  std::vector<Finished> finished_;  // a queue: [first_, last_); the others are kept for reuse
  std::size_t first_ = 0, last_ = 0;
};

}  // namespace penstock::formats::tar
