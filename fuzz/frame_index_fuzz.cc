// Any bytes as a kept index of frames, and the same with the outside made right, so that the inside
// is reached.
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "media/video/index_file.h"

namespace penstock::media {
namespace {

constexpr std::size_t kHead = 88, kCheckedFrom = 24;
constexpr std::size_t kChecksum = 16, kStamp = 24, kPackets = 40;

void read_everything(std::span<const std::byte> bytes, storage::Stamp stamp,
                     const char* container) {
  av::StreamInfo stream;
  stream.container = container;
  stream.tick = 1.0 / 90000;
  const Result<FrameIndex> index = index_from(bytes, stamp, stream);
  if (!index) return;
  if (index->times.size() != index->frames.size()) __builtin_trap();
  for (const std::uint32_t one : index->frames) {
    const std::uint32_t start = index->start_of(one);
    if (start > one || index->start_before(start) > start) __builtin_trap();
    av::Packet packet;
    packet.pos = index->packets[one].pos;
    packet.pts = index->packets[one].pts;
    packet.size = index->packets[one].size;
    if (index->number_of(packet) >= std::int64_t(index->packets.size())) __builtin_trap();
  }
  if (index_bytes(*index, stamp, stream.number).size() != bytes.size()) __builtin_trap();
}

}  // namespace
}  // namespace penstock::media

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock::media;
  if (size > 1 << 16) return 0;
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  read_everything(bytes, {}, "");
  if (size < kHead) return 0;
  const std::uint32_t version = kIndexVersion, stream = 0;
  std::memcpy(bytes.data(), "PSFRAME\n", 8);
  std::memcpy(bytes.data() + 8, &version, sizeof version);
  std::memcpy(bytes.data() + 12, &stream, sizeof stream);
  // As many of each as there is room for; the rest are bytes of parameter sets.
  std::uint64_t counts[5];
  std::memcpy(counts, bytes.data() + kPackets, sizeof counts);
  std::uint64_t room = bytes.size() - kHead;
  constexpr std::uint64_t kSizes[5] = {32, 4, 4, 20, 1};
  for (int i = 0; i < 4; ++i) {
    counts[i] = std::min(counts[i], room / kSizes[i]);
    room -= counts[i] * kSizes[i];
  }
  counts[4] = room;
  std::memcpy(bytes.data() + kPackets, counts, sizeof counts);
  const std::uint64_t sum = ::XXH3_64bits(bytes.data() + kCheckedFrom, bytes.size() - kCheckedFrom);
  std::memcpy(bytes.data() + kChecksum, &sum, sizeof sum);
  penstock::storage::Stamp stamp;
  std::memcpy(&stamp.size, bytes.data() + kStamp, 8);
  std::memcpy(&stamp.mtime, bytes.data() + kStamp + 8, 8);
  for (const char* container : {"", "mpeg"}) read_everything(bytes, stamp, container);
  return 0;
}
