#include "formats/zip.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace penstock::formats {
namespace {

constexpr std::size_t kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr std::size_t kEntryBytes = 46, kLocalBytes = 30, kLongestComment = 65535;
constexpr std::uint32_t kEndMagic = 0x06054b50, kEnd64Magic = 0x06064b50;
constexpr std::uint32_t kLocator64Magic = 0x07064b50, kEntryMagic = 0x02014b50;
constexpr std::uint32_t kLocalMagic = 0x04034b50, kSignatureMagic = 0x05054b50;
constexpr std::uint64_t kMost = std::uint64_t(1) << 40;

Error damaged(const std::string& why, const storage::Source& source) {
  return Error(Code::corrupt, "the zip archive is damaged: " + why).in_file(source.name());
}

template <class T>
T number(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

struct Directory {
  std::uint64_t offset = 0, bytes = 0, count = 0;
};

Result<Directory> find_directory(const storage::Source& source) {
  const std::uint64_t size = source.size();
  const auto tail =
      std::size_t(std::min<std::uint64_t>(size, kEndBytes + kLongestComment + kLocator64Bytes));
  std::vector<std::byte> bytes(tail);
  if (Status status = source.read(size - tail, bytes); !status) return std::move(status).error();
  std::size_t at = tail < kEndBytes ? tail : tail - kEndBytes;
  const auto is_end = [&](std::size_t i) {
    return number<std::uint32_t>(&bytes[i]) == kEndMagic &&
           i + kEndBytes + number<std::uint16_t>(&bytes[i + 20]) <= tail;
  };
  if (tail < kEndBytes) return damaged("it is too short", source);
  while (!is_end(at)) {
    if (at-- == 0) return damaged("it has no directory; was it cut off?", source);
  }
  Directory found{number<std::uint32_t>(&bytes[at + 16]), number<std::uint32_t>(&bytes[at + 12]),
                  number<std::uint16_t>(&bytes[at + 10])};
  if (at < kLocator64Bytes ||
      number<std::uint32_t>(&bytes[at - kLocator64Bytes]) != kLocator64Magic) {
    return found;
  }
  const auto place = number<std::uint64_t>(&bytes[at - kLocator64Bytes + 8]);
  std::array<std::byte, kEnd64Bytes> end;
  if (size < kEnd64Bytes || place > size - kEnd64Bytes) return damaged("its end is wrong", source);
  if (Status status = source.read(place, end); !status) return std::move(status).error();
  if (number<std::uint32_t>(end.data()) != kEnd64Magic) return damaged("its end is wrong", source);
  found.count = number<std::uint64_t>(&end[32]);
  found.bytes = number<std::uint64_t>(&end[40]);
  found.offset = number<std::uint64_t>(&end[48]);
  return found;
}

// Sizes beyond 32 bits stand in an extra field, those that are needed, in this order.
bool widen(std::span<const std::byte> extra, ZipFile::Member& member) {
  while (extra.size() >= 4) {
    const auto id = number<std::uint16_t>(extra.data());
    const std::size_t length = number<std::uint16_t>(extra.data() + 2);
    extra = extra.subspan(4);
    if (length > extra.size()) return false;
    std::span<const std::byte> field = extra.first(length);
    extra = extra.subspan(length);
    if (id != 1) continue;
    for (std::uint64_t* value : {&member.size, &member.packed, &member.header}) {
      if (*value != 0xffffffff) continue;
      if (field.size() < 8) return false;
      *value = number<std::uint64_t>(field.data());
      field = field.subspan(8);
    }
  }
  return true;
}

}  // namespace

Result<ZipFile> ZipFile::open(std::shared_ptr<const storage::Source> source) {
  const Result<Directory> directory = find_directory(*source);
  if (!directory) return directory.error();
  const std::uint64_t size = source->size();
  if (directory->offset > size || directory->bytes > size - directory->offset ||
      directory->count > directory->bytes / kEntryBytes) {
    return damaged("its directory does not fit", *source);
  }
  std::vector<std::byte> bytes(std::size_t(directory->bytes));
  if (Status status = source->read(directory->offset, bytes); !status) {
    return std::move(status).error();
  }
  ZipFile zip;
  std::span<const std::byte> rest = bytes;
  for (std::uint64_t i = 0; i < directory->count; ++i) {
    if (rest.size() < kEntryBytes || number<std::uint32_t>(rest.data()) != kEntryMagic) {
      return damaged("entry " + std::to_string(i) + " of its directory is wrong", *source);
    }
    const std::byte* at = rest.data();
    const std::size_t name = number<std::uint16_t>(at + 28), extra = number<std::uint16_t>(at + 30),
                      comment = number<std::uint16_t>(at + 32);
    if (name + extra + comment > rest.size() - kEntryBytes) {
      return damaged("its directory ends early", *source);
    }
    Member member;
    member.encrypted = (number<std::uint16_t>(at + 8) & 1) != 0;
    member.method = number<std::uint16_t>(at + 10);
    member.crc = number<std::uint32_t>(at + 16);
    member.packed = number<std::uint32_t>(at + 20);
    member.size = number<std::uint32_t>(at + 24);
    member.header = number<std::uint32_t>(at + 42);
    member.name.assign(reinterpret_cast<const char*>(at + kEntryBytes), name);
    if (!widen(rest.subspan(kEntryBytes + name, extra), member) || member.header > size ||
        member.packed > size - member.header || member.size > kMost) {
      return damaged("member '" + member.name + "' lies outside it", *source);
    }
    zip.members_.push_back(std::move(member));
    rest = rest.subspan(kEntryBytes + name + extra + comment);
  }
  // What its length covers and its count does not would be members that nobody sees.
  if (!rest.empty() && (rest.size() < 4 || number<std::uint32_t>(rest.data()) != kSignatureMagic)) {
    return damaged("its directory is longer than its entries", *source);
  }
  zip.source_ = std::move(source);
  return zip;
}

const ZipFile::Member* ZipFile::find(std::string_view name) const noexcept {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const Member& each) { return each.name == name; });
  return found == members_.end() ? nullptr : &*found;
}

Result<std::uint64_t> ZipFile::payload(const Member& member) const {
  const std::uint64_t size = source_->size();
  const std::size_t named = kLocalBytes + member.name.size();
  if (size < named || member.header > size - named) {
    return damaged("member '" + member.name + "' lies outside it", *source_);
  }
  std::vector<std::byte> local(named);
  if (Status status = source_->read(member.header, local); !status) {
    return std::move(status).error();
  }
  const std::size_t name = number<std::uint16_t>(&local[26]),
                    extra = number<std::uint16_t>(&local[28]);
  if (number<std::uint32_t>(local.data()) != kLocalMagic || name != member.name.size() ||
      std::memcmp(local.data() + kLocalBytes, member.name.data(), name) != 0) {
    return damaged("the header of member '" + member.name + "' is not what the directory says",
                   *source_)
        .at_offset(std::int64_t(member.header));
  }
  const std::uint64_t start = member.header + named + extra;
  if (start > size || member.packed > size - start) {
    return damaged("member '" + member.name + "' lies outside it", *source_);
  }
  return start;
}

Result<Buffer> ZipFile::read(const Member& member, BufferPool& pool) const {
  if (member.encrypted || (member.method != 0 && member.method != 8)) {
    return Error(Code::unsupported,
                 "member '" + member.name + "' is " +
                     (member.encrypted ? "encrypted"
                                       : "compressed by method " + std::to_string(member.method)) +
                     "; stored and deflated ones are read")
        .in_file(source_->name());
  }
  const Result<std::uint64_t> start = payload(member);
  if (!start) return start.error();
  // Deflate makes at most 1032 bytes of one: a larger size is a lie, found before memory is taken.
  if (member.method == 0 ? member.size != member.packed : member.size / 1040 > member.packed) {
    return damaged("the size of member '" + member.name + "' is wrong", *source_);
  }
  Result<Buffer> memory = pool.allocate(std::max<std::size_t>(std::size_t(member.size), 1));
  if (!memory) return Error(memory.error()).in_file(source_->name());
  const std::span<std::byte> into = memory->bytes().first(std::size_t(member.size));
  if (member.method == 0) {
    if (Status status = source_->read(*start, into); !status) return std::move(status).error();
  } else {
    const Result<Buffer> packed =
        pool.allocate(std::max<std::size_t>(std::size_t(member.packed), 1));
    if (!packed) return packed;
    const std::span<std::byte> bytes = packed->bytes().first(std::size_t(member.packed));
    if (Status status = source_->read(*start, bytes); !status) return std::move(status).error();
    struct Free {
      void operator()(libdeflate_decompressor* state) const { libdeflate_free_decompressor(state); }
    };
    thread_local const std::unique_ptr<libdeflate_decompressor, Free> state(
        libdeflate_alloc_decompressor());
    if (!state) return Error(Code::out_of_memory, "no memory to unpack a zip member");
    std::size_t made = 0;
    const auto outcome = libdeflate_deflate_decompress(state.get(), bytes.data(), bytes.size(),
                                                       into.data(), into.size(), &made);
    if (outcome != LIBDEFLATE_SUCCESS || made != into.size()) {
      return damaged("member '" + member.name + "' cannot be unpacked", *source_)
          .at_offset(std::int64_t(*start));
    }
  }
  if (libdeflate_crc32(0, into.data(), into.size()) != member.crc) {
    return damaged("the checksum of member '" + member.name + "' is wrong", *source_)
        .at_offset(std::int64_t(*start));
  }
  return memory;
}

}  // namespace penstock::formats
