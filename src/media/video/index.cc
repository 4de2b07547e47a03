#include "media/video/index.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string_view>

#include "media/video/times.h"

namespace penstock::media {
namespace {

constexpr std::size_t kMostPackets = std::size_t(1) << 27;
constexpr int kMostBoxes = 1 << 16;   // that are looked at for the end of a file
constexpr std::size_t kLooks = 32;    // packets whose bytes are read only to be asked
constexpr std::size_t kReorder = 32;  // so many packets after a picture none comes that is earlier

// Do times run on from packet to packet? Where they begin anew, or jump while pictures wait for
// earlier ones, as in streams that were put together of others, they do not tell which is shown
// first. Those of FLV are made to run on: FFmpeg writes 31 bits of them, and reads 32.
bool times_run_on(FrameIndex& index, const av::StreamInfo& stream) {
  constexpr std::int64_t kTurn = std::int64_t(1) << 31;
  const bool turns = stream.container == "flv";
  std::int64_t last = av::kNoTime, latest = av::kNoTime, turn = 0;
  bool jumps = false, reorders = false, returns = false;
  for (IndexedPacket& one : index.packets) {
    if (one.pts == av::kNoTime) continue;
    if (one.dts == av::kNoTime) {  // what is in front of a key frame is shown before it
      returns = returns || (one.key && latest != av::kNoTime && one.pts <= latest);
      latest = std::max(latest, one.pts);
      continue;
    }
    if (turns && last != av::kNoTime) {
      const std::int64_t step = one.dts + turn - last;
      turn -= (step + (step < 0 ? -kTurn : kTurn) / 2) / kTurn * kTurn;
    }
    one.pts += turn;
    const std::int64_t now = one.dts + turn;
    returns = returns || now < last;
    jumps = jumps || (latest != av::kNoTime && now > latest && !one.key);
    reorders = reorders || one.pts < latest;
    last = now, latest = std::max(latest, one.pts);
  }
  return !returns && !(jumps && reorders);
}

// Can the order of presentation be told from the packets?
bool times_tell(const FrameIndex& index, const std::vector<std::uint32_t>& order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    const IndexedPacket& one = index.packets[order[i]];
    if (one.pts == av::kNoTime) return false;
    if (i > 0 && !one.discard && !index.packets[order[i - 1]].discard &&
        index.packets[order[i - 1]].pts == one.pts) {
      return false;
    }
  }
  return true;
}

// A stream that begins with pictures whose references were cut off does not show them. How many
// packets there are up to the last one of which that must be found out.
std::uint32_t doubtful_start(const FrameIndex& index) {
  if (index.keys.empty()) return 0;
  const std::uint32_t key = index.keys.front(), first = index.packets[key].place;
  const std::size_t end = index.keys.size() > 1 ? index.keys[1] : index.packets.size();
  std::uint32_t doubtful = key;
  for (std::uint32_t i = key + 1; i < end; ++i) {
    if (index.packets[i].place < first && !index.packets[i].discard) doubtful = i + 1;
  }
  return doubtful;
}

// b - a, whatever times a file holds.
double apart(std::int64_t a, std::int64_t b) {
  if (b < a) return -apart(b, a);
  return double(std::uint64_t(b) - std::uint64_t(a));
}

struct Shown {
  std::vector<std::uint32_t> packets;  // of the pictures, as they come out
  std::vector<std::uint32_t> keys;
};

// What comes out of the decoder when it is given `enough` packets from the beginning, and as many
// more, up to `most`, as it takes until pictures come out.
Result<Shown> shown_by_decoding(av::Input& input, std::size_t enough, std::size_t most) {
  if (Status status = input.rewind(); !status) return std::move(status).error();
  Shown shown;
  av::Packet packet;
  av::Picture picture;
  const auto take_all = [&]() -> Status {
    for (;;) {
      Result<bool> got = input.receive(picture);
      if (!got) return std::move(got).error();
      if (!*got) return {};
      if (picture.tag < 0) continue;
      shown.packets.push_back(std::uint32_t(picture.tag));
      if (picture.key) shown.keys.push_back(std::uint32_t(picture.tag));
    }
  };
  for (std::size_t number = 0; number < most; ++number) {
    if (number >= enough && !shown.packets.empty()) most = std::min(most, number + kReorder);
    Result<bool> more = input.read(packet);
    if (!more) return std::move(more).error();
    if (!*more) break;
    if (Status s = input.send(std::int64_t(number), av::Wanted::picture); !s) {
      return std::move(s).error();
    }
    if (Status s = take_all(); !s) return std::move(s).error();
  }
  if (Status s = input.drain(); !s) return std::move(s).error();
  if (Status s = take_all(); !s) return std::move(s).error();
  input.flush();
  return shown;
}

// What the first packets tell that the container does not.
struct FirstLook {
  bool untrue = false;    // times are not those of pictures
  bool recovers = false;  // the first key frame shows nothing until others have completed it
};

// Reads all packets into the index.
Result<FirstLook> read_packets(av::Input& input, bool blank, FrameIndex& index) {
  // Times that never go back, though a picture is to be shown before one that was sent earlier, are
  // only those of packets. Bytes are read as long as that is not known, nor how the first key frame
  // begins; if they are not needed for anything else, only those of the first packets.
  bool asks_order = input.stream().reorders, asks_start = input.stream().codec == "h264";
  if (blank && !asks_order && !asks_start) input.read_blank(true);
  index.all_looked_at = !blank;
  ParameterSets now, sets;
  FirstLook is;
  std::int64_t complaints = input.complaints(), latest = av::kNoTime;
  bool ends_inside = false;
  av::Packet packet;
  for (;;) {
    Result<bool> more = input.read(packet);
    const std::size_t count = index.packets.size();
    if (blank && (asks_order || asks_start) && count < std::size_t(input.stream().samples) &&
        (!more || !*more || packet.corrupt)) {
      // The file was cut off here; its tables tell of all that was there.
      if (Status back = input.rewind(); !back) return std::move(back).error();
      input.read_blank(true);
      complaints = input.complaints();
      index.packets.clear(), index.keys.clear(), index.changes.clear();
      now.clear();
      asks_order = asks_start = false;
      continue;
    }
    if (!more) {
      if (more.error().code() != Code::corrupt || count == 0) return std::move(more).error();
      index.damage = more.error().message();
      break;
    }
    if (!*more) break;
    if (count >= kMostPackets) {
      return Error(Code::out_of_range, "the stream has more packets than can be indexed");
    }
    ends_inside = packet.corrupt;
    if (packet.key) index.keys.push_back(std::uint32_t(count));
    index.packets.push_back(
        {packet.pts, packet.dts, packet.pos, 0,
         std::uint32_t(std::min<std::int64_t>(packet.size, IndexedPacket::kMostBytes)), packet.key,
         packet.discard || packet.hidden});
    sets.clear();
    (void)input.parameter_sets(sets);
    index.carries_sets = index.carries_sets || carries_sets(sets);
    bool changes = false;
    for (const av::ParameterSet& one : sets) changes = put_set(one, now) || changes;
    // Where a sequence's set changes, a decoder forgets those of its pictures.
    for (std::size_t i = 0; changes && i < sets.size(); ++i) {
      index.changes.push_back({std::uint32_t(count), std::move(sets[i])});
    }
    if (!asks_order && !asks_start) continue;
    const bool goes_on = !blank || count + 1 < kLooks;
    if (asks_start) {
      const av::Start begins = packet.key ? input.start() : av::Start::open;
      is.recovers = packet.key && begins == av::Start::never;
      // A part that was cut out of another file may have been put together with others.
      index.carries_sets = index.carries_sets || begins != av::Start::clean;
      asks_start = !packet.key && goes_on;
    }
    if (asks_order) {
      const bool goes_back = packet.pts < latest;
      is.untrue = input.shown_early() && !goes_back;
      latest = std::max(latest, packet.pts);
      asks_order = !is.untrue && !goes_back && goes_on;
    }
    if (blank && !asks_order && !asks_start) input.read_blank(true);
  }
  if (blank) input.read_blank(false);
  if (index.damage.empty() && input.complaints() > complaints) index.damage = input.complaint();
  // Broadcast streams mark packets as damaged of which most is there.
  if (index.damage.empty() && ends_inside && !blank && input.stream().container != "mpegts") {
    index.damage = "the file ends inside a packet, or is damaged there";
  }
  return is;
}

}  // namespace

std::uint32_t FrameIndex::start_of(std::uint32_t packet) const noexcept {
  auto after = std::upper_bound(keys.begin(), keys.end(), packet);
  while (after != keys.begin()) {
    --after;
    if (packets[*after].place <= packets[packet].place) return *after;
  }
  return 0;
}

std::uint32_t FrameIndex::start_before(std::uint32_t start) const noexcept {
  const auto at = std::lower_bound(keys.begin(), keys.end(), start);
  return at == keys.begin() ? 0 : *(at - 1);
}

std::int64_t FrameIndex::number_of(const av::Packet& packet) const noexcept {
  if (!seekable) return -1;
  auto at = std::lower_bound(
      by_pos_.begin(), by_pos_.end(), packet.pos,
      [this](std::uint32_t one, std::int64_t pos) { return packets[one].pos < pos; });
  if (at == by_pos_.end() || packets[*at].pos != packet.pos) return -1;
  const auto next = at + 1;
  const bool alone = next == by_pos_.end() || packets[*next].pos != packet.pos;
  if (by_bytes && (packet.pos < 0 || !alone || !may_be(*at, packet))) return -1;
  if (alone) return *at;
  for (; at != by_pos_.end() && packets[*at].pos == packet.pos; ++at) {
    if (packets[*at].pts == packet.pts) return *at;
  }
  return -1;
}

// MPEG-TS and PS are cut into packets by what their bytes say. What comes first after a seek may be
// the rest of a packet, in the place where the next one begins, which then does not say where it
// is.
bool FrameIndex::may_be(std::uint32_t number, const av::Packet& packet) const noexcept {
  if (number >= packets.size()) return false;
  if (!by_bytes) return !seekable || number_of(packet) == std::int64_t(number);
  const IndexedPacket& one = packets[number];
  return one.size == std::min(packet.size, IndexedPacket::kMostBytes) &&
         (one.pos < 0 || packet.pos < 0 || one.pos == packet.pos);
}

// Fills in what follows from packets and frames.
void FrameIndex::settle(const av::StreamInfo& stream) {
  by_pos_.resize(packets.size());
  std::iota(by_pos_.begin(), by_pos_.end(), 0u);
  std::sort(by_pos_.begin(), by_pos_.end(), [this](std::uint32_t a, std::uint32_t b) {
    const IndexedPacket &one = packets[a], &other = packets[b];
    return one.pos != other.pos ? one.pos < other.pos : one.pts < other.pts;
  });
  by_bytes = stream.container == "mpegts" || stream.container == "mpeg";
  for (std::size_t i = 0; i < by_pos_.size() && seekable && !by_bytes; ++i) {
    const IndexedPacket& one = packets[by_pos_[i]];
    seekable = one.pos >= 0 && (i == 0 || packets[by_pos_[i - 1]].pos != one.pos ||
                                packets[by_pos_[i - 1]].pts != one.pts);
  }
  // How many of the pictures before one are shown after it, at most.
  std::vector<std::uint32_t> waiting;
  for (const IndexedPacket& one : packets) {
    const auto later = std::upper_bound(waiting.begin(), waiting.end(), one.place);
    reorder = std::max(reorder, int(waiting.end() - later));
    if (later != waiting.begin() && *(later - 1) == one.place) continue;
    waiting.insert(later, one.place);
    if (waiting.size() > 32) waiting.erase(waiting.begin());
  }
  if (frames.empty()) return;
  const bool timed = std::all_of(frames.begin(), frames.end(), [this](std::uint32_t one) {
    return packets[one].pts != av::kNoTime;
  });
  const double rate = stream.rate > 0 ? stream.rate : 25;
  // Where the times are those of packets the first picture has the earliest, and so on.
  std::vector<std::int64_t> shown;
  if (timed) shown = shown_times(*this, stream);
  if (timed) start = double(shown.front()) * stream.tick;
  times.reserve(frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    times.push_back(timed ? apart(shown.front(), shown[i]) * stream.tick : double(i) / rate);
  }
  // The last frame is shown as long as the one before it, on the average.
  const double last =
      times.size() > 1 && times.back() > 0 ? times.back() / double(times.size() - 1) : 1 / rate;
  duration = times.back() + last;
}

Result<FrameIndex> make_index(av::Input& input, bool blank) {
  FrameIndex index;
  const av::StreamInfo& stream = input.stream();
  const Result<FirstLook> look = read_packets(input, blank, index);
  if (!look) return look.error();

  const bool runs_on = times_run_on(index, stream) || stream.in_order;
  std::vector<std::uint32_t> order(index.packets.size());
  std::iota(order.begin(), order.end(), 0u);
  if (!stream.in_order) {
    std::stable_sort(order.begin(), order.end(), [&index](std::uint32_t a, std::uint32_t b) {
      return index.packets[a].pts < index.packets[b].pts;
    });
  }
  const bool fields = stream.interlaced && (stream.codec == "h264" || stream.codec == "hevc");
  const bool unknown = stream.width <= 0 || stream.height <= 0;  // it may not be decodable at all
  const bool all_keys = index.keys.size() == order.size() && order.size() > 1;
  if (unknown || fields || look->untrue || !runs_on || (all_keys && !stream.keys_hold) ||
      !times_tell(index, order)) {
    Result<Shown> shown = shown_by_decoding(input, order.size(), order.size());
    if (!shown) return std::move(shown).error();
    index.frames = std::move(shown->packets);
    // Containers of this kind also call packets key frames that hold none.
    index.keys = std::move(shown->keys);
    std::sort(index.keys.begin(), index.keys.end());
    for (IndexedPacket& one : index.packets) one.key = false;
    for (const std::uint32_t key : index.keys) index.packets[key].key = true;
    // A packet without a picture belongs to the one after it.
    std::vector<std::uint32_t> place(index.packets.size(), std::uint32_t(-1));
    for (std::size_t i = 0; i < index.frames.size(); ++i) {
      place[index.frames[i]] = std::uint32_t(i);
    }
    std::uint32_t next = std::uint32_t(index.frames.size());
    for (std::size_t i = place.size(); i-- > 0;) {
      if (place[i] != std::uint32_t(-1)) next = place[i];
      index.packets[i].place = next;
    }
  } else {
    for (std::size_t i = 0; i < order.size(); ++i) index.packets[order[i]].place = std::uint32_t(i);
    std::vector<bool> absent(order.size(), false);
    const std::uint32_t doubtful = doubtful_start(index);
    if (doubtful > 0 || look->recovers) {
      Result<Shown> shown =
          shown_by_decoding(input, doubtful, look->recovers ? order.size() : doubtful);
      if (!shown) return std::move(shown).error();
      for (std::uint32_t i = 0; i < doubtful; ++i) {
        absent[i] = look->recovers || i != index.keys.front();
      }
      for (const std::uint32_t one : shown->packets) absent[one] = false;
      if (look->recovers) {
        // Pictures are held back in the order of presentation.
        std::uint32_t first = std::uint32_t(order.size());
        for (const std::uint32_t one : shown->packets) {
          first = std::min(first, index.packets[one].place);
        }
        for (std::uint32_t i = 0; i < first; ++i) absent[order[i]] = true;
      }
    }
    for (const std::uint32_t one : order) {
      if (!index.packets[one].discard && !absent[one]) index.frames.push_back(one);
    }
  }
  index.settle(stream);
  return index;
}

namespace {

// A box of an MP4 or QuickTime file.
struct Box {
  std::array<char, 4> type{};
  std::uint64_t size = 0;  // as it says, with its head; more than there is: the file was cut off

  std::string_view name() const { return {type.data(), type.size()}; }
};

// Nothing: there is none.
std::optional<Box> box_at(const storage::Source& source, std::uint64_t at) {
  if (at + 8 > source.size()) return std::nullopt;
  std::array<std::byte, 16> head{};
  const std::size_t count = std::min<std::uint64_t>(head.size(), source.size() - at);
  if (!source.read(at, std::span(head).first(count))) return std::nullopt;
  const auto number = [&head](std::size_t from, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      value = value << 8 | std::to_integer<std::uint64_t>(head[from + i]);
    }
    return value;
  };
  Box box;
  for (std::size_t i = 0; i < 4; ++i) box.type[i] = char(head[4 + i]);
  box.size = number(0, 4);
  if (box.size == 1) box.size = number(8, 8);
  if (box.size == 0) box.size = source.size() - at;
  if (box.size < 8) return std::nullopt;
  return box;
}

}  // namespace

bool has_whole_tables(const storage::Source& source) {
  std::uint64_t at = 0;
  bool tables = false;
  for (int i = 0; i < 64; ++i) {
    const std::optional<Box> box = box_at(source, at);
    if (!box) return tables && at + 8 > source.size();
    const std::string_view type = box->name();
    if (i == 0 && type != "ftyp" && type != "moov" && type != "mdat" && type != "wide" &&
        type != "free") {
      return false;
    }
    if (type == "moof") return false;
    tables = tables || type == "moov";
    if (box->size > source.size() - at) return tables;  // cut off
    at += box->size;
  }
  return tables;
}

bool ends_inside_a_fragment(const storage::Source& source) {
  std::uint64_t at = 0;
  for (int i = 0; i < kMostBoxes; ++i) {
    const std::optional<Box> box = box_at(source, at);
    if (!box) return false;
    if (box->size > source.size() - at) return box->name() == "moof" || box->name() == "mdat";
    at += box->size;
  }
  return false;
}

}  // namespace penstock::media
