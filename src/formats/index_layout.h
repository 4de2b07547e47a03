// The fixed part of a sidecar, shared by index.cc and index_builder.cc. See index.h.
#pragma once

#include <bit>
#include <cstdint>

namespace penstock::formats::layout {

static_assert(std::endian::native == std::endian::little, "sidecars are read in place");

inline constexpr char kMagic[8] = {'P', 'S', 'I', 'N', 'D', 'E', 'X', '\n'};
// Of version 1 are those in which damage may have left incomplete records that pass for sound.
inline constexpr std::uint32_t kVersion = 2;
inline constexpr std::uint32_t kVersionIfSound = 1;  // read if nothing was found damaged
inline constexpr std::uint32_t kHashes = 1;
inline constexpr std::uint32_t kWide = 2;
inline constexpr std::size_t kFindings = 7;
inline constexpr std::size_t kCheckedFrom = 24;  // the checksum covers what follows

enum Section : std::size_t {
  fields,
  starts,
  firsts,
  ends,
  keys,
  places,
  sizes,
  numbers,
  hashes,
  bad,
  section_count,
};

struct Place {
  std::uint64_t offset, bytes;
};

struct Head {
  char magic[8];
  std::uint32_t version, flags;
  std::uint64_t checksum;
  std::uint64_t sidecar_bytes;
  std::uint64_t file_bytes;
  std::int64_t file_mtime;
  std::uint64_t records, parts, payload_bytes, largest, digest;
  std::uint64_t findings[kFindings];
  Place sections[section_count];
};
static_assert(sizeof(Head) == 144 + 16 * section_count);

}  // namespace penstock::formats::layout
