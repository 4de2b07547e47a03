#include "media/video/reader.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

namespace penstock::media {
namespace {

constexpr std::uint32_t kReadOn = 16;     // packets that are sooner read than jumped over
constexpr std::uint32_t kMostLater = 40;  // packets after which a picture comes out, if ever
constexpr int kUntilKnown = 6;            // packets after a seek, one of which says which it is

}  // namespace

// Pictures that are decoded in one pass.
struct FrameReader::Run {
  struct Target {
    std::uint32_t packet;
    std::size_t which;
  };
  std::uint32_t start = 0;
  std::vector<Target> targets;  // sorted by packet

  std::uint32_t last() const { return targets.back().packet; }
};

// What a call of read() has come to.
struct FrameReader::Pass {
  const ReadOptions& options;
  FrameSink& sink;
  std::span<const std::int64_t> numbers;
  ReadReport report;
  std::set<std::uint32_t> damage;  // packets of this run that were found to be damaged
  std::string words;               // of the last of them
  std::set<std::uint32_t> slow;    // key frames that begin a recovery over several pictures
  std::set<std::uint32_t> gaps;    // packets in front of which pictures of this run are missing
  std::optional<std::uint32_t> lost{};  // the packet of this run that could not be read
  bool not_a_start = false;             // decoding cannot begin where the container says so
  bool trial = false;                   // this run began at a key frame that is not a clean start
  bool doubtful = false;                // and the damage behind that may be of its own making
  bool again = false;                   // pictures take the place of those that are there
  bool all = false;                     // those that nobody asked for are decoded, too
  bool skips = false;                   // there are some that were not
};

Error FrameReader::at_frame(Code code, std::size_t frame, const std::string& what) const {
  char text[64];
  std::snprintf(text, sizeof text, "frame %zu (%.3f s): ", frame, index_.times[frame]);
  return Error(code, text + what).in_file(name_);
}

std::vector<FrameReader::Run> FrameReader::plan(std::span<const std::int64_t> numbers) const {
  std::vector<Run::Target> targets;
  targets.reserve(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    targets.push_back({index_.frames[std::size_t(numbers[i])], i});
  }
  std::sort(targets.begin(), targets.end(), [](const Run::Target& a, const Run::Target& b) {
    return a.packet != b.packet ? a.packet < b.packet : a.which < b.which;
  });
  std::vector<Run> runs;
  for (const Run::Target& target : targets) {
    const std::uint32_t start = index_.start_of(target.packet);
    if (runs.empty() || start > runs.back().last() + 1) runs.push_back({start, {}});
    runs.back().start = std::min(runs.back().start, start);
    runs.back().targets.push_back(target);
    // A picture may need more than the run before it left out.
    while (runs.size() > 1 && runs.back().start <= runs[runs.size() - 2].last() + 1) {
      Run& before = runs[runs.size() - 2];
      before.start = std::min(before.start, runs.back().start);
      before.targets.insert(before.targets.end(), runs.back().targets.begin(),
                            runs.back().targets.end());
      runs.pop_back();
    }
  }
  return runs;
}

Result<ReadReport> FrameReader::read(std::span<const std::int64_t> numbers,
                                     const ReadOptions& options, FrameSink& sink) {
  for (const std::int64_t number : numbers) {
    if (number >= 0 && number < std::int64_t(index_.frames.size())) continue;
    std::string text = "there is no frame " + std::to_string(number) + ": it has " +
                       std::to_string(index_.frames.size());
    if (!index_.damage.empty()) text += "; the file is damaged: " + index_.damage;
    return Error(Code::out_of_range, std::move(text)).in_file(name_);
  }
  Pass pass{options, sink, numbers, {}, {}, {}, {}, {}};
  pass.report.there.assign(numbers.size(), false);
  pass.report.damaged.assign(numbers.size(), false);
  std::vector<Run> runs = plan(numbers);
  for (std::size_t next = 0; next < runs.size(); ++next) {
    const Run run = std::move(runs[next]);
    std::uint32_t start = run.start;
    pass.again = pass.all = false;
    pass.lost.reset();
    Status done = attempt(pass, run, start);
    if (done.ok() && pass.doubtful) done = settle_doubt(pass, run);
    const auto missing = [&]() {
      return std::find_if(run.targets.begin(), run.targets.end(), [&](const Run::Target& target) {
        return !pass.report.there[target.which];
      });
    };
    // A key frame may turn out to be none: once more from the one before, then from the beginning.
    while (done.ok() && start > 0 && missing() != run.targets.end()) {
      start = pass.not_a_start     ? index_.start_before(start)
              : start == run.start ? index_.start_before(start)
                                   : 0;
      ++pass.report.restarts;
      done = attempt(pass, run, start);
    }
    if (says_too_little(pass, run, done)) done = decode_all(pass, run, start);
    const auto first = missing();
    if (done.ok() && first != run.targets.end()) {
      done = at_frame(
          Code::corrupt, std::size_t(numbers[first->which]),
          "the decoder gives no picture for it" + (pass.words.empty() ? "" : ": " + pass.words));
    }
    if (done.ok()) continue;
    if (!options.partial) return std::move(done).error();
    const bool goes_on = pass.lost && done.error().code() == Code::corrupt;
    if (!pass.report.failure) pass.report.failure = std::move(done).error();
    if (!goes_on) continue;
    // What needs nothing of what was lost, and has not been tried from its own key frame: what was
    // lost may lie before this run, where it began once more.
    const std::uint32_t tried = std::max(*pass.lost, run.start);
    Run rest;
    for (const Run::Target& target : run.targets) {
      const std::uint32_t from = index_.start_of(target.packet);
      if (pass.report.there[target.which] || from <= tried) continue;
      rest.start = rest.targets.empty() ? from : std::min(rest.start, from);
      rest.targets.push_back(target);
    }
    if (!rest.targets.empty()) runs.push_back(std::move(rest));
  }
  return std::move(pass.report);
}

Result<av::Picture> FrameReader::look() {
  av::Picture picture;
  for (const av::Wanted wanted : {av::Wanted::parameters, av::Wanted::picture}) {
    const std::uint32_t start = index_.keys.empty() ? 0 : index_.keys.front();
    begin_at(start);
    if (Status fetched = fetch(start); !fetched) return std::move(fetched).error();
    if (Status sent = input_->send(start, wanted); !sent) return std::move(sent).error();
    if (Status drained = input_->drain(); !drained) return std::move(drained).error();
    if (Result<bool> got = input_->receive(picture); !got) return std::move(got).error();
    input_->flush();
    if (*picture.format != '\0') break;
  }
  return picture;
}

Status FrameReader::attempt(Pass& pass, const Run& run, std::uint32_t start) {
  Status done = decode(pass, run, start);
  if (input_->must_repeat()) {
    const bool again = std::exchange(pass.again, true);
    pass.lost.reset();
    done = decode(pass, run, start);
    pass.again = again;
  }
  Status judged = judge(pass, run);
  return done.ok() ? std::move(judged) : std::move(done);
}

// A decoder that begins at a key frame other than IDR may complain of pictures that it has never
// seen. Damage that is still there when it begins earlier is in the file.
Status FrameReader::settle_doubt(Pass& pass, const Run& run) {
  pass.again = true;
  ++pass.report.restarts;
  const std::vector<bool> before = pass.report.damaged;
  std::uint32_t start = run.start;
  Status done;
  do {
    start = index_.start_before(start);
    done = attempt(pass, run, start);
  } while (pass.not_a_start);
  const bool better = done.ok() && pass.report.damaged != before;
  begins_earlier_ = begins_earlier_ || better;
  return done.ok() || pass.options.strict ? std::move(done) : Status();  // there is the first one
}

// Where a picture is missing, the decoder puts another one in its place as it goes, unless one that
// was left out tells it apart: then it says nothing, or complains of others. In front of a key
// frame one may be missing that nobody needs.
bool FrameReader::says_too_little(const Pass& pass, const Run& run, const Status& done) const {
  if (!pass.skips || pass.gaps.empty() || pass.lost) return false;
  if (!done.ok()) return pass.options.strict && done.error().code() == Code::corrupt;
  return std::any_of(run.targets.begin(), run.targets.end(), [&](const Run::Target& target) {
    if (pass.report.damaged[target.which]) return true;
    const auto first = pass.gaps.upper_bound(needed_from(pass, target.packet));
    return first != pass.gaps.end() && *first <= target.packet;
  });
}

// Once more, with all pictures, as a decode from the beginning has them.
Status FrameReader::decode_all(Pass& pass, const Run& run, std::uint32_t start) {
  const std::vector<bool> before = pass.report.there;
  pass.again = pass.all = true;
  Status done;
  for (;; start = index_.start_before(start)) {
    for (const Run::Target& target : run.targets) pass.report.there[target.which] = false;
    done = attempt(pass, run, start);
    if (!done.ok() || (!pass.not_a_start && !pass.doubtful)) break;
  }
  for (const Run::Target& target : run.targets) {
    if (before[target.which]) pass.report.there[target.which] = true;
  }
  return done.ok() || pass.options.strict ? std::move(done) : Status();  // there is the first one
}

Status FrameReader::decode(Pass& pass, const Run& run, std::uint32_t start) {
  pass.damage.clear();
  pass.gaps.clear();
  pass.skips = false;
  pass.not_a_start = pass.trial = pass.doubtful = false;
  begin_at(start);
  auto target = run.targets.begin();
  av::Start kind = av::Start::clean;
  // Pictures come out later than their packets go in. Where they must not be drained, packets go on
  // until the last one is there.
  const auto goes_on = [&](std::uint32_t number) {
    if (number <= run.last()) return true;
    return kind != av::Start::clean && number <= run.last() + kMostLater &&
           number < index_.packets.size() &&
           std::any_of(run.targets.begin(), run.targets.end(),
                       [&](const Run::Target& one) { return !pass.report.there[one.which]; });
  };
  // Pictures that are shown before the first one, and refer to what came before it, are none of the
  // targets. A decoder of MPEG-4 takes the distance of the first B-frame for that of all. Without
  // times (AVI) only the place tells, unless two pictures are in a packet: then the decoder holds
  // the second one back, and what is left out would shift those behind.
  const IndexedPacket& first = index_.packets[start];
  const bool leaves_out = start > 0 && input_->stream().codec == "mpeg4";
  bool place_tells = leaves_out && first.pts == av::kNoTime;
  for (std::uint32_t number = start; goes_on(number); ++number) {
    const IndexedPacket& one = index_.packets[number];
    if (leaves_out && one.place < first.place &&
        (place_tells || (one.pts != av::kNoTime && one.pts < first.pts))) {
      continue;
    }
    while (target != run.targets.end() && target->packet < number) ++target;
    if (Status fetched = fetch(number); !fetched) {
      pass.lost = number;
      // What the packets before it gave is still to be had.
      if (Status drained = input_->drain(); !drained) return drained;
      if (Status taken = take_pictures(pass, run); !taken) return taken;
      const auto lost = std::find_if(target, run.targets.end(), [&](const Run::Target& one) {
        return !pass.report.there[one.which];
      });
      if (lost == run.targets.end()) return {};
      return at_frame(fetched.error().code(), std::size_t(pass.numbers[lost->which]),
                      fetched.error().message());
    }
    const av::Start begins = number == start || one.key ? input_->start() : av::Start::clean;
    if (begins == av::Start::never) pass.slow.insert(number);
    if (number == start) kind = begins;
    if (number == start && place_tells) place_tells = !input_->holds_two();
    if (number == start && start > 0) {
      pass.trial = kind == av::Start::open && start == run.start;
      pass.not_a_start = kind == av::Start::never || (pass.trial && begins_earlier_);
      if (pass.not_a_start) return {};
    }
    if (one.key && !index_.all_looked_at && !carries_sets_) {
      ParameterSets sets;
      (void)input_->parameter_sets(sets);
      carries_sets_ = carries_sets(sets);
    }
    // Where the stream begins with a recovery, what is left out would change what is held back.
    const bool wanted = pass.all || (start == 0 && kind != av::Start::clean) ||
                        (target != run.targets.end() && target->packet == number);
    pass.skips = pass.skips || !wanted;
    const std::int64_t before = input_->damages(), gaps = input_->gaps();
    if (held_is_corrupt_) pass.damage.insert(number);
    Status sent = input_->send(number, wanted ? av::Wanted::picture : av::Wanted::references);
    if (!sent) return sent;
    if (input_->gaps() > gaps) pass.gaps.insert(number);
    note_damage(pass, number, before);
    const std::int64_t now = input_->damages();
    if (Status taken = take_pictures(pass, run); !taken) return taken;
    note_damage(pass, number, now);
  }
  const std::int64_t before = input_->damages();
  if (Status drained = input_->drain(); !drained) return drained;
  if (Status taken = take_pictures(pass, run); !taken) return taken;
  note_damage(pass, run.last(), before);
  return {};
}

// The decoder forgets what it was sent, and is told of the parameter sets that hold at `start`
// where there may be several and the packet does not bring its own.
void FrameReader::begin_at(std::uint32_t start) {
  input_->flush();
  const bool looks = !index_.all_looked_at && carries_sets_;
  if (index_.changes.empty() && !looks) return;
  ParameterSets sets;
  if (!fetch(start) || input_->parameter_sets(sets)) return;  // who fetches it again sees why
  input_->begin_with(looks ? sets_before(start) : sets_at(index_.changes, start));
}

// The same of a file whose key frames have not all been looked at: back to one that brings all.
ParameterSets FrameReader::sets_before(std::uint32_t start) {
  const auto change = std::find_if(index_.changes.rbegin(), index_.changes.rend(),
                                   [&](const ParameterChange& one) { return one.packet <= start; });
  const std::uint32_t first = change == index_.changes.rend() ? 0 : change->packet;
  ParameterSets sets = sets_at(index_.changes, start);
  std::vector<std::pair<std::uint32_t, ParameterSets>> passed;
  for (std::uint32_t key = start; key > first;) {
    key = index_.start_before(key);
    if (const auto known = sets_.find(key); known != sets_.end()) {
      sets = known->second;
      break;
    }
    if (key < first) break;
    if (!fetch(key)) return sets;
    passed.emplace_back(key, ParameterSets());
    if (input_->parameter_sets(passed.back().second)) break;
  }
  for (auto one = passed.rbegin(); one != passed.rend(); ++one) {
    for (const av::ParameterSet& set : one->second) put_set(set, sets);
    sets_[one->first] = sets;
  }
  return sets;
}

// Was damage found since there were `before`? Then it is in this packet.
void FrameReader::note_damage(Pass& pass, std::uint32_t number, std::int64_t before) const {
  if (input_->damages() <= before) return;
  pass.words = input_->damage();
  pass.damage.insert(number);
}

// The first packet whose damage is that of this one's picture, too.
std::uint32_t FrameReader::needed_from(const Pass& pass, std::uint32_t packet) const {
  const std::uint32_t start = index_.start_of(packet);
  return pass.slow.contains(start) ? index_.start_before(start) : start;
}

bool FrameReader::is_damaged(const Pass& pass, std::uint32_t packet) const {
  const auto first = pass.damage.lower_bound(needed_from(pass, packet));
  return first != pass.damage.end() && *first <= packet;
}

Error FrameReader::damaged_frame(const Pass& pass, std::size_t which) const {
  return at_frame(Code::corrupt, std::size_t(pass.numbers[which]),
                  "it is damaged, or refers to a picture that is" +
                      (pass.words.empty() ? "" : ": " + pass.words));
}

// Pictures may come out before the damaged one that they refer to.
Status FrameReader::judge(Pass& pass, const Run& run) const {
  for (const Run::Target& target : run.targets) {
    if (!pass.report.there[target.which] || !is_damaged(pass, target.packet)) continue;
    pass.report.damaged[target.which] = true;
    if (pass.trial && index_.start_of(target.packet) == run.start) {
      pass.doubtful = true;
    } else if (pass.options.strict) {
      return damaged_frame(pass, target.which);
    }
  }
  return {};
}

Status FrameReader::take_pictures(Pass& pass, const Run& run) {
  av::Picture picture;
  for (;;) {
    Result<bool> got = input_->receive(picture);
    if (!got) return std::move(got).error();
    if (!*got) return {};
    if (picture.damaged && picture.tag >= 0) pass.damage.insert(std::uint32_t(picture.tag));
    auto target =
        std::lower_bound(run.targets.begin(), run.targets.end(), picture.tag,
                         [](const Run::Target& one, std::int64_t tag) { return one.packet < tag; });
    if (target == run.targets.end() || target->packet != picture.tag) continue;
    const std::uint32_t packet = target->packet;
    const bool damaged = is_damaged(pass, packet);
    if (damaged && pass.options.strict && !pass.trial) return damaged_frame(pass, target->which);
    for (; target != run.targets.end() && target->packet == packet; ++target) {
      if (pass.report.there[target->which] && !pass.again) continue;
      if (Status taken = pass.sink.take(target->which, picture, *input_); !taken) return taken;
      pass.report.there[target->which] = true;
      pass.report.damaged[target->which] = damaged;
    }
  }
}

Result<bool> FrameReader::read_next(av::Packet& packet) {
  held_ = -1;
  Result<bool> more = input_->read(packet);
  if (!more || !*more) next_ = -1;
  held_is_corrupt_ = packet.corrupt;
  return more;
}

// Reads on until the packet of this number is the one that the input holds.
Status FrameReader::fetch(std::uint32_t number) {
  if (held_ == std::int64_t(number)) return {};
  const bool near =
      next_ >= 0 && next_ <= std::int64_t(number) && number - std::uint32_t(next_) < kReadOn;
  if (!near) {
    if (Status sought = seek_before(number); !sought) return sought;
    if (held_ == std::int64_t(number)) return {};
  }
  av::Packet packet;
  for (;;) {
    const std::int64_t expected = next_;
    Result<bool> more = read_next(packet);
    if (!more) return std::move(more).error();
    const bool fits = *more && index_.may_be(std::uint32_t(expected), packet);
    // Tables may tell of packets that are not in a file which was cut off.
    if (!fits && sought_ && (*more || index_.by_bytes || index_.all_looked_at)) {
      misled_ = true;  // from now on packets are counted from the beginning
      if (Status sought = seek_before(number); !sought) return sought;
      continue;
    }
    if (!*more) return Error(Code::corrupt, "the file ends before it");
    if (!fits) {
      next_ = -1;
      return Error(Code::corrupt, "packets do not come in the order that they had before");
    }
    next_ = expected + 1;
    if (expected != std::int64_t(number)) continue;
    // Broadcast streams mark packets as damaged of which most is there.
    if (packet.corrupt && input_->stream().container != "mpegts") {
      return Error(Code::corrupt, "the file ends inside it, or is damaged there");
    }
    held_ = expected;
    return {};
  }
}

// Goes to a packet at or before this one; the input may hold it already.
Status FrameReader::seek_before(std::uint32_t number) {
  held_ = -1;
  if (index_.by_bytes) {
    if (!misled_ && seek_by_bytes(number)) return {};
  } else if (index_.seekable && number > 0 && !misled_) {
    const bool by_pts = input_->stream().container.starts_with("matroska");
    std::uint32_t key = number;
    for (int attempt = 0; attempt < 3; ++attempt) {
      const IndexedPacket& to = index_.packets[key];
      const std::int64_t time = by_pts || to.dts == av::kNoTime ? to.pts : to.dts;
      av::Packet packet;
      sought_ = true;
      if (time != av::kNoTime && input_->seek(time)) {
        const Result<bool> more = read_next(packet);
        const std::int64_t is = more && *more ? index_.number_of(packet) : -1;
        if (is >= 0 && is <= std::int64_t(number) && !packet.corrupt) {
          held_ = is;
          next_ = is + 1;
          return {};
        }
      }
      key = index_.start_before(key);
    }
  }
  if (Status back = input_->rewind(); !back) return back;
  sought_ = false;
  next_ = 0;
  return {};
}

// To the place of a packet before this one, until one says which it is. False: none has.
bool FrameReader::seek_by_bytes(std::uint32_t number) {
  // In MPEG-PS packets begin anywhere, and the first two after a seek are not to be told.
  const bool aligned = input_->stream().container == "mpegts";
  for (const std::uint32_t before : {aligned ? 0u : 2u, 5u, 20u}) {
    if (number <= before) return false;
    std::uint32_t from = number - before;
    while (from > 0 && index_.packets[from].pos < 0) --from;
    if (from == 0 || !input_->seek_byte(index_.packets[from].pos)) return false;
    sought_ = true;
    av::Packet packet;
    for (int i = 0; i < kUntilKnown; ++i) {
      const Result<bool> more = read_next(packet);
      if (!more || !*more) break;
      const std::int64_t is = index_.number_of(packet);
      if (is < 0) continue;
      if (is > std::int64_t(number) || packet.corrupt) break;
      held_ = is, next_ = is + 1;
      return true;
    }
  }
  return false;
}

}  // namespace penstock::media
