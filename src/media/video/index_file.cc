#include "media/video/index_file.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace penstock::media {
namespace {

static_assert(std::endian::native == std::endian::little, "the numbers are copied as they are");

constexpr char kMagic[8] = {'P', 'S', 'F', 'R', 'A', 'M', 'E', '\n'};
constexpr std::uint32_t kKey = 1, kHidden = 2;  // of a packet
constexpr int kSizeShift = 2;
constexpr std::uint64_t kAllLookedAt = 1, kSets = 2;  // of the stream

struct Head {
  char magic[8];
  std::uint32_t version;
  std::int32_t stream;
  std::uint64_t checksum;
  std::uint64_t file_bytes;
  std::int64_t file_mtime;
  std::uint64_t packets, frames, keys;
  std::uint64_t changes, set_bytes;  // of parameter sets; the bytes of all of them
  std::uint64_t flags;
};
static_assert(sizeof(Head) == 88);
constexpr std::size_t kCheckedFrom = 24;

struct StoredPacket {
  std::int64_t pts, dts, pos;
  std::uint32_t place, flags;
};
static_assert(sizeof(StoredPacket) == 32);

struct StoredChange {
  std::uint32_t packet;
  std::int32_t kind, number;
  std::uint32_t own, bytes;
};
static_assert(sizeof(StoredChange) == 20);

std::uint64_t size_of(const Head& head) {
  return sizeof head + head.packets * sizeof(StoredPacket) +
         (head.frames + head.keys) * sizeof(std::uint32_t) + head.changes * sizeof(StoredChange) +
         head.set_bytes;
}

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  return ::XXH3_64bits(bytes.data() + kCheckedFrom, bytes.size() - kCheckedFrom);
}

Error unfit(const std::string& why) {
  return {Code::corrupt, "the index of frames " + why +
                             "; make it anew with keep_index=\"refresh\", or remove it"};
}

// From what comes last in the file. False: they do not fit together.
bool fill_changes(const std::byte* at, const Head& head, std::vector<ParameterChange>& changes) {
  const std::byte* bytes = at + head.changes * sizeof(StoredChange);
  const std::byte* const end = bytes + head.set_bytes;
  std::uint32_t last = 0;
  for (std::uint64_t i = 0; i < head.changes; ++i, at += sizeof(StoredChange)) {
    StoredChange one{};
    std::memcpy(&one, at, sizeof one);
    if (one.packet < last || one.packet >= head.packets || one.bytes > end - bytes) return false;
    last = one.packet;
    changes.push_back({one.packet, {one.kind, one.number, one.own != 0, {}}});
    changes.back().set.bytes.resize(one.bytes);
    for (std::uint8_t& byte : changes.back().set.bytes)
      byte = std::to_integer<std::uint8_t>(*bytes++);
  }
  return bytes == end;
}

}  // namespace

std::vector<std::byte> index_bytes(const FrameIndex& index, storage::Stamp stamp, int stream) {
  Head head{};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  head.version = kIndexVersion;
  head.stream = stream;
  head.file_bytes = stamp.size;
  head.file_mtime = stamp.mtime;
  head.packets = index.packets.size();
  head.frames = index.frames.size();
  head.keys = index.keys.size();
  head.changes = index.changes.size();
  for (const ParameterChange& one : index.changes) head.set_bytes += one.set.bytes.size();
  head.flags = (index.all_looked_at ? kAllLookedAt : 0) | (index.carries_sets ? kSets : 0);
  std::vector<std::byte> bytes(size_of(head));
  std::memcpy(bytes.data(), &head, sizeof head);
  std::byte* at = bytes.data() + sizeof head;
  for (const IndexedPacket& one : index.packets) {
    const StoredPacket stored{
        one.pts, one.dts, one.pos, one.place,
        one.size << kSizeShift | (one.key ? kKey : 0) | (one.discard ? kHidden : 0)};
    std::memcpy(at, &stored, sizeof stored);
    at += sizeof stored;
  }
  for (const std::vector<std::uint32_t>* numbers : {&index.frames, &index.keys}) {
    const std::size_t size = numbers->size() * sizeof(std::uint32_t);
    if (size > 0) std::memcpy(at, numbers->data(), size);
    at += size;
  }
  for (const ParameterChange& one : index.changes) {
    const StoredChange stored{one.packet, one.set.kind, one.set.number, one.set.own ? 1u : 0u,
                              std::uint32_t(one.set.bytes.size())};
    std::memcpy(at, &stored, sizeof stored);
    at += sizeof stored;
  }
  for (const ParameterChange& one : index.changes) {
    for (const std::uint8_t byte : one.set.bytes) *at++ = std::byte(byte);
  }
  head.checksum = checksum_of(bytes);
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

Result<FrameIndex> index_from(std::span<const std::byte> bytes, storage::Stamp stamp,
                              const av::StreamInfo& stream) {
  Head head{};
  if (bytes.size() < sizeof head) return unfit("is cut off");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0) return unfit("is none of a video");
  if (head.version != kIndexVersion) return unfit("is of another version of Penstock");
  const std::uint64_t most = bytes.size();  // so that no product is too large
  if (head.packets > most || head.frames > most || head.keys > most || head.changes > most ||
      head.set_bytes > most || bytes.size() != size_of(head) ||
      head.checksum != checksum_of(bytes)) {
    return unfit("is damaged");
  }
  if (storage::Stamp{head.file_bytes, head.file_mtime} != stamp) {
    return unfit("was made for another version of the file");
  }
  if (head.stream != stream.number) return unfit("is of another stream of the file");
  FrameIndex index;
  index.packets.reserve(head.packets);
  const std::byte* at = bytes.data() + sizeof head;
  for (std::uint64_t i = 0; i < head.packets; ++i, at += sizeof(StoredPacket)) {
    StoredPacket one{};
    std::memcpy(&one, at, sizeof one);
    index.packets.push_back({one.pts, one.dts, one.pos, one.place, one.flags >> kSizeShift,
                             (one.flags & kKey) != 0, (one.flags & kHidden) != 0});
  }
  index.frames.resize(head.frames);
  index.keys.resize(head.keys);
  const auto fill = [&at](std::vector<std::uint32_t>& numbers) {
    if (!numbers.empty()) std::memcpy(numbers.data(), at, numbers.size() * sizeof(std::uint32_t));
    at += numbers.size() * sizeof(std::uint32_t);
  };
  fill(index.frames);
  fill(index.keys);
  index.all_looked_at = (head.flags & kAllLookedAt) != 0;
  index.carries_sets = (head.flags & kSets) != 0;
  if (!fill_changes(at, head, index.changes)) return unfit("makes no sense");
  const auto fits = [&](std::uint32_t one) { return one < head.packets; };
  if (!std::all_of(index.frames.begin(), index.frames.end(), fits) ||
      !std::all_of(index.keys.begin(), index.keys.end(), fits) ||
      !std::is_sorted(index.keys.begin(), index.keys.end())) {
    return unfit("makes no sense");
  }
  index.settle(stream);
  return index;
}

}  // namespace penstock::media
