#include "formats/chunked/hdf5/object_header.h"

namespace penstock::formats::hdf5 {

Status ObjectHeader::each(std::uint64_t address, const Use& use) {
  const Result<Bytes> start = file_.read(address, 16);
  if (!start) return start.error();
  if (begins(*start, "OHDR")) {
    if (Status status = open_new(address, *start); !status) return status;
  } else if ((*start)[0] == std::byte(1)) {
    Reader reader{std::span<const std::byte>(*start).subspan(8)};
    blocks_.push_back({address + 16, reader.number(4)});
  } else {
    return file_.damaged("an object's header is wrong", address);
  }
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_.size() > 10'000) return file_.damaged("a header has no end", address);
    const Result<bool> more = read_block(blocks_[i].first, blocks_[i].second, use);
    if (!more) return more.error();
    if (!*more) break;
  }
  return {};
}

Status ObjectHeader::open_new(std::uint64_t address, const Bytes& start) {
  new_style_ = true;
  const auto flags = std::uint8_t(start[5]);
  tracked_ = (flags & 4) != 0;
  const std::uint64_t times = (flags & 32) != 0 ? 16 : 0, phases = (flags & 16) != 0 ? 4 : 0;
  const std::size_t width = std::size_t(1) << (flags & 3);
  const std::uint64_t at = address + 6 + times + phases;
  const Result<Bytes> size = file_.read(at, width);
  if (!size) return size.error();
  blocks_.push_back({at + width, Reader(*size).number(width)});
  return {};
}

// False: that was enough.
Result<bool> ObjectHeader::read_block(std::uint64_t address, std::uint64_t size, const Use& use) {
  const Result<Bytes> bytes = file_.read(address, size);
  if (!bytes) return bytes.error();
  Reader reader(*bytes);
  const std::size_t prefix = new_style_ ? (tracked_ ? 6 : 4) : 8;
  while (reader.left() >= prefix) {
    Message message;
    message.kind = reader.number(new_style_ ? 1 : 2);
    const std::uint64_t length = reader.number(2);
    message.elsewhere = (reader.number(1) & 2) != 0;
    reader.take(prefix - (new_style_ ? 4 : 5));
    message.data = reader.take(std::size_t(length));
    if (!reader.ok()) {
      if (new_style_) return true;
      return file_.damaged("a header ends early", address);
    }
    if (message.kind == Message::continued) {
      Reader where(message.data);
      const std::uint64_t offset = where.number(8), more = where.number(8);
      if (!where.ok()) return file_.damaged("a header is wrong", address);
      // New blocks have a mark in front and a checksum behind.
      if (!new_style_) blocks_.push_back({offset, more});
      if (new_style_ && more >= 8) blocks_.push_back({offset + 4, more - 8});
    }
    if (!use(message)) return false;
  }
  return true;
}

}  // namespace penstock::formats::hdf5
