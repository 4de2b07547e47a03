// A FrameIndex in a sidecar ("clip.mkv.psidx"), so that a container without tables is read through
// only once. See formats/sidecar.h for where sidecars are and how they are written.
//
// Little-endian, in this order:
//   8 bytes   "PSFRAME\n"
//   u32, i32  version; number of the stream in the file
//   u64       XXH3 of all that follows
//   u64, i64  size and time of the file that it belongs to
//   u64 x 5   how many packets, frames, key frames, changes, and bytes of all changes
//   u64       flags: 1 every packet was looked at, 2 packets carry parameter sets
//   packets   i64 pts, dts, place in the file; u32 place in the order of presentation; u32 flags:
//             1 key frame, 2 not shown; from bit 2 on its bytes
//   u32s      the packet of each frame; the packets that are key frames
//   changes   of parameter sets and palettes: u32 packet; i32 kind, number; u32 is it the
//             container's own, u32 bytes; behind the last change the bytes of all of them
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "media/video/index.h"
#include "storage/source.h"

namespace penstock::media {

// 1: another order of frames where times run backwards. 2: nothing is said of parameter sets.
// 3: nor of how large packets are. 4: times of decoding may be made up.
// 5: nothing is said of palettes.
inline constexpr std::uint32_t kIndexVersion = 6;

std::vector<std::byte> index_bytes(const FrameIndex& index, storage::Stamp stamp, int stream);

// Error (corrupt): damaged, of another version, file or stream; it says how to make a new one.
Result<FrameIndex> index_from(std::span<const std::byte> bytes, storage::Stamp stamp,
                              const av::StreamInfo& stream);

}  // namespace penstock::media
