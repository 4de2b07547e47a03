#include "formats/tar/header.h"

#include <cstring>
#include <string_view>

namespace penstock::formats::tar {
namespace {

constexpr std::uint64_t kLargest = std::uint64_t(1) << 62;

const char* chars(Block block) noexcept {
  return reinterpret_cast<const char*>(block.data());
}

// A field up to its first zero byte.
std::string_view text(Block block, std::size_t offset, std::size_t size) noexcept {
  const char* start = chars(block) + offset;
  return {start, ::strnlen(start, size)};
}

bool parse_base256(const unsigned char* field, std::size_t size, std::uint64_t& into) noexcept {
  if (field[0] != 0x80) return false;  // 0xff would be negative
  std::uint64_t value = 0;
  for (std::size_t i = 1; i < size; ++i) {
    if (value >> 54 != 0) return false;
    value = value << 8 | field[i];
  }
  into = value;
  return true;
}

bool parse_number(Block block, std::size_t offset, std::size_t size, std::uint64_t& into) noexcept {
  const auto* field = reinterpret_cast<const unsigned char*>(block.data()) + offset;
  if ((field[0] & 0x80) != 0) return parse_base256(field, size, into);
  std::size_t i = 0;
  while (i < size && field[i] == ' ') ++i;
  std::uint64_t value = 0;
  for (; i < size && field[i] >= '0' && field[i] <= '7'; ++i) {
    value = value << 3 | std::uint64_t(field[i] - '0');
  }
  for (; i < size; ++i) {
    if (field[i] != ' ' && field[i] != 0) return false;
  }
  into = value;
  return true;
}

bool is_posix(Block block) noexcept {
  return std::memcmp(chars(block) + 257, "ustar\0", 6) == 0;
}
bool is_gnu(Block block) noexcept {
  return std::memcmp(chars(block) + 257, "ustar ", 6) == 0;
}

// The sum of all bytes with the checksum taken as spaces. Some old tars added signed bytes.
template <class Byte>
std::int64_t sum_of(Block block) noexcept {
  const auto* bytes = reinterpret_cast<const Byte*>(block.data());
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) sum += bytes[i];
  for (std::size_t i = 148; i < 156; ++i) sum += ' ' - bytes[i];
  return sum;
}

bool checksum_is_right(Block block) noexcept {
  std::uint64_t said;
  if (!parse_number(block, 148, 8, said)) return false;
  return std::int64_t(said) == sum_of<unsigned char>(block) ||
         std::int64_t(said) == sum_of<signed char>(block);
}

Type type_of(Block block) noexcept {
  switch (char(block[156])) {
    case '\0':
    case '0':
    case '7': {  // "contiguous"
      const std::string_view name = text(block, 0, 100);
      return name.ends_with('/') ? Type::unknown : Type::file;  // how v7 writes a folder
    }
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
      return Type::other;
    case 'S':
      return Type::sparse;
    case 'L':
      return Type::long_name;
    case 'K':
      return Type::long_link;
    case 'x':
    case 'X':
      return Type::pax;
    case 'g':
      return Type::pax_global;
    default:
      return Type::unknown;
  }
}

}  // namespace

bool parse_header(Block block, bool strict, Header& into) noexcept {
  if (strict && !is_posix(block) && !is_gnu(block)) return false;
  if (!checksum_is_right(block)) return false;
  if (!parse_size(block, into.size)) return false;
  into.type = type_of(block);
  if (into.type == Type::other) into.size = 0;
  into.sparse_continues = into.type == Type::sparse && block[482] != std::byte(0);
  return true;
}

bool parse_size(Block block, std::uint64_t& into) noexcept {
  return parse_number(block, 124, 12, into) && into <= kLargest;
}

void name_of(Block block, std::string& into) {
  into.clear();
  if (is_posix(block)) {
    const std::string_view prefix = text(block, 345, 155);
    if (!prefix.empty()) {
      into += prefix;
      into += '/';
    }
  }
  into += text(block, 0, 100);
}

bool has_magic(Block block) noexcept {
  return is_posix(block) || is_gnu(block);
}

bool is_zero(Block block) noexcept {
  return block[0] == std::byte(0) && std::memcmp(block.data(), block.data() + 1, kBlock - 1) == 0;
}

}  // namespace penstock::formats::tar
