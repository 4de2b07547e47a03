// One tar header: 512 bytes, as POSIX ustar, GNU tar, Unix v7 and BSD write them.
//
//   0 name[100]  124 size[12]  148 checksum[8]  156 type  257 magic[8]  345 prefix[155] (ustar)
//   482 "more sparse blocks follow" (GNU)
//
// Numbers are octal text; GNU writes large ones as base 256 with the top bit set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace penstock::formats::tar {

inline constexpr std::size_t kBlock = 512;
using Block = std::span<const std::byte, kBlock>;

enum class Type : std::uint8_t {
  file,       // its bytes follow
  other,      // a folder, link, device: nothing follows
  unknown,    // something of another kind whose bytes follow
  sparse,     // GNU's: perhaps more blocks, then bytes that are not the file's
  long_name,  // the bytes that follow are the next member's name
  long_link,  // ... its link's name
  pax,        // ... its pax records
  pax_global,
};

struct Header {
  Type type = Type::file;
  std::uint64_t size = 0;  // of what follows, padding not counted; at most 2^62
  bool sparse_continues = false;
};

// True if the checksum is right and the numbers can be read. `strict` also asks for a magic number,
// as one must when looking for a header among other bytes.
bool parse_header(Block block, bool strict, Header& into) noexcept;

// The member's name, prefix included. Also of a damaged header, for what it is worth.
void name_of(Block block, std::string& into);

bool is_zero(Block block) noexcept;
bool has_magic(Block block) noexcept;  // POSIX's or GNU's

// The size field alone, of a header that may be damaged. False if it is no number.
bool parse_size(Block block, std::uint64_t& into) noexcept;

constexpr std::uint64_t padded(std::uint64_t size) noexcept {
  return (size + kBlock - 1) / kBlock * kBlock;
}

}  // namespace penstock::formats::tar
