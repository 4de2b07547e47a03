// Zip archives: the directory, and the bytes of a member. Stored and deflated; zip64.
//
// Thread safety: a ZipFile never changes; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/buffer.h"
#include "penstock/error.h"
#include "storage/source.h"

namespace penstock::formats {

class ZipFile {
 public:
  struct Member {
    std::string name;
    std::uint64_t size = 0;    // of the bytes that it stands for
    std::uint64_t packed = 0;  // of those in the archive
    std::uint64_t header = 0;  // offset of its local header
    std::uint32_t crc = 0;
    std::uint16_t method = 0;  // 0 stored, 8 deflated
    bool encrypted = false;
  };

  // Reads the directory, which is at the end. Fails with corrupt if there is none, or if it does
  // not fit the file.
  static Result<ZipFile> open(std::shared_ptr<const storage::Source> source);

  const std::vector<Member>& members() const noexcept { return members_; }
  const Member* find(std::string_view name) const noexcept;

  // Its bytes, unpacked and checked against their CRC-32, in memory of `pool` at a multiple of 64.
  Result<Buffer> read(const Member& member, BufferPool& pool) const;

  // Where a stored member's bytes begin in the file. Fails with corrupt if its local header has
  // another name than the directory, which nothing else would tell: names have no checksum.
  Result<std::uint64_t> payload(const Member& member) const;

 private:
  std::shared_ptr<const storage::Source> source_;
  std::vector<Member> members_;
};

}  // namespace penstock::formats
