// Index: where the records of one file are, as a view of the bytes of a sidecar (.psidx).
//
// The same bytes serve from memory, just made, and from a map of the sidecar, so an index of any
// length costs no memory of its own and record i is found in constant time. One layout for all
// formats: a record is a key and a number of parts, a part is a range of the file with a field and
// perhaps a hash.
//
// Layout: little-endian; sections begin at multiples of 8.
//   0  "PSINDEX\n"       8  u32 version (1)     12  u32 flags: 1 hashes, 2 wide
//  16  u64 XXH3 of all from byte 24 on, seeded with the flags
//  24  u64 bytes of the sidecar
//  32  u64 bytes of the file                    40  i64 mtime of the file, nanoseconds
//  48  u64 records R                            56  u64 parts P
//  64  u64 bytes of all parts                   72  u64 most bytes of the file that a record spans
//  80  u64 digest of the keys                   88  u64 findings[7]
// 144  {u64 offset, u64 bytes} of the sections:
//      fields  the names, each ended by a zero byte
//      starts  u64[R]      offset of the record in the file
//      firsts  u32[R + 1]  the record's parts are firsts[i] to firsts[i + 1] - 1
//      ends    u32[R + 1]  its key is keys[ends[i]] to keys[ends[i + 1] - 1]
//      keys    bytes
//      places  u32[P], wide: u64[P]   offset of the part, counted from the record's start
//      sizes   u32[P], wide: u64[P]
//      numbers u16[P]                 its field
//      hashes  u64[P], if flags & 1   XXH3 of its bytes
//      bad     {u64 record, u64 trouble, u64 offset}[...], sorted by record
//
// Whatever the bytes say, no member reads outside them.
// Thread safety: never changes; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/records.h"
#include "penstock/error.h"
#include "storage/source.h"

namespace penstock::formats {

class Index {
 public:
  struct Part {
    std::uint64_t offset = 0;  // in the file
    std::uint64_t size = 0;
    std::uint16_t field = 0;  // an index into fields()
  };
  struct Entry {
    std::string_view key;
    std::uint64_t first = 0;  // of its parts
    std::uint64_t count = 0;
  };
  struct Bad {
    std::uint64_t record = 0;
    std::uint64_t trouble = 0;  // the format's own number
    std::uint64_t offset = 0;
  };

  Index() = default;  // of no records

  // `owner` keeps the bytes alive, which are aligned to 8. Fails with corrupt if they are no index,
  // or damaged, and with unsupported if a later version wrote them.
  static Result<Index> open(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

  // Of the first bytes of what may be one: is it? How long does it say that it is?
  static bool begins_as_one(std::span<const std::byte> bytes) noexcept;
  static std::uint64_t length_of(std::span<const std::byte> bytes) noexcept;

  std::uint64_t records() const noexcept { return records_; }
  std::uint64_t parts() const noexcept { return parts_; }
  bool has_hashes() const noexcept { return !hashes_.empty(); }
  storage::Stamp stamp() const noexcept { return stamp_; }
  std::uint64_t payload_bytes() const noexcept { return payload_bytes_; }
  std::uint64_t largest() const noexcept { return largest_; }
  std::uint64_t digest() const noexcept { return digest_; }
  const Findings& findings() const noexcept { return findings_; }
  const std::vector<std::string_view>& fields() const noexcept { return fields_; }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

  // `i` is below records(). False if the index contradicts itself there.
  bool entry(std::uint64_t i, Entry& into) const noexcept;
  // Part `p` of record `i`, with entry.first <= p < entry.first + entry.count.
  bool part(std::uint64_t i, std::uint64_t p, Part& into) const noexcept;
  // Hints that record `i` is asked for soon: at first for its entry, a little later for its parts.
  void fetch_entry(std::uint64_t i) const noexcept;
  void fetch_parts(std::uint64_t i) const noexcept;
  std::uint64_t hash(std::uint64_t p) const noexcept { return hashes_[std::size_t(p)]; }
  // Why record `i` cannot be read, or null.
  const Bad* bad(std::uint64_t i) const noexcept;

 private:
  std::uint64_t number(std::span<const std::byte> section, std::uint64_t i) const noexcept;
  void look_whether_plain() noexcept;

  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  std::uint64_t records_ = 0, parts_ = 0, payload_bytes_ = 0, largest_ = 0, digest_ = 0;
  storage::Stamp stamp_;
  Findings findings_;
  bool wide_ = false;
  // Each record is one part without a key, all at the same distance from the record's start: then
  // most tables need not be looked at, which counts where records are read at random.
  bool plain_ = false;
  std::uint64_t plain_place_ = 0;
  std::vector<std::string_view> fields_;
  std::span<const std::uint64_t> starts_, hashes_;
  std::span<const std::uint32_t> firsts_, ends_;
  std::span<const std::byte> keys_, places_, sizes_;
  std::span<const std::uint16_t> numbers_;
  std::span<const Bad> bad_;
};

}  // namespace penstock::formats
