#include "formats/chunked/hdf5/attribute_messages.h"

#include <algorithm>
#include <bit>

#include "formats/chunked/hdf5/object_header.h"
#include "formats/chunked/hdf5/tree2.h"

namespace penstock::formats::hdf5 {
namespace {

constexpr std::uint64_t kNowhere = ~std::uint64_t(0);
constexpr std::uint64_t kMostBytes = std::uint64_t(1) << 28;  // of all together

// Objects of any size in blocks whose sizes double from row to row. Read as far as blocks lie in
// the root: half a megabyte of attributes, as libhdf5 makes it. The others are left out.
class FractalHeap {
 public:
  FractalHeap(IndexFile& file, std::uint64_t header) : file_(file), header_(header) {}

  Status open() {
    constexpr std::uint64_t kBytes = 142 + kChecksumBytes;
    Status status = file_.read_block(
        {header_, kBytes}, [&](const IndexBlock&, auto bytes) { return read_header(bytes); });
    if (!status || rows_ == 0 || root_ == kNowhere || !known_) return status;
    const std::uint64_t size = head_bytes() + rows_ * width_ * 8 + kChecksumBytes;
    return file_.read_block({root_, size}, [&](const IndexBlock&, auto bytes) -> Status {
      if (!begins(bytes, "FHIB")) return wrong();
      Reader reader(bytes.subspan(std::size_t(head_bytes())));
      for (std::uint64_t i = 0; i < rows_ * width_; ++i) blocks_.push_back(reader.number(8));
      return {};
    });
  }

  // What an identifier names. Nothing: it is not in a block of the root.
  Result<Bytes> get(Reader identifier) {
    const std::uint64_t flags = identifier.number(1);
    const std::uint64_t offset = identifier.number(offset_bytes_);
    const std::uint64_t length = identifier.number(length_bytes_);
    if (!identifier.ok()) return wrong();
    if (!known_ || (flags >> 4 & 3) != 0) return Bytes();
    std::uint64_t block = root_, start = 0, size = first_;
    if (rows_ > 0) {
      const std::uint64_t units = offset / (first_ * width_);
      const auto row = std::uint64_t(std::bit_width(units));
      start = row == 0 ? 0 : first_ * width_ << (row - 1);
      size = row == 0 ? first_ : first_ << (row - 1);
      if (row >= rows_) return wrong();
      if (size > largest_) return Bytes();
      const std::uint64_t column = (offset - start) / size;
      start += column * size;
      block = blocks_[std::size_t(row * width_ + column)];
    }
    if (offset < start || offset - start > size || length > size - (offset - start)) {
      return wrong();
    }
    return file_.read(block + (offset - start), length);
  }

 private:
  Error wrong() const { return file_.damaged("where it keeps attributes is wrong", header_); }

  Status read_header(std::span<const std::byte> bytes) {
    Reader reader(bytes);
    const bool marked = begins(reader.take(4), "FRHP");
    const std::uint64_t version = reader.number(1);
    reader.take(2);
    const std::uint64_t filters = reader.number(2);
    reader.take(1);
    const std::uint64_t most_managed = reader.number(4);
    reader.take(std::size_t(12) * 8);
    width_ = reader.number(2);
    first_ = reader.number(8);
    largest_ = reader.number(8);
    const std::uint64_t bits = reader.number(2);
    reader.take(2);
    root_ = reader.number(8);
    rows_ = reader.number(2);
    if (!marked || version != 0) return wrong();
    if (filters != 0) return {};
    if (width_ == 0 || bits == 0 || bits > 64 || rows_ > 64 || !std::has_single_bit(first_) ||
        !std::has_single_bit(largest_) || largest_ < first_ || largest_ > kMostBytes ||
        width_ > 1024 || most_managed == 0) {
      return wrong();
    }
    offset_bytes_ = std::size_t(bits + 7) / 8;
    const auto log = [](std::uint64_t number) { return std::size_t(std::bit_width(number)) - 1; };
    length_bytes_ = std::min((log(largest_) + 7) / 8, log(most_managed) / 8 + 1);
    known_ = true;
    return {};
  }

  std::uint64_t head_bytes() const noexcept { return 4 + 1 + 8 + offset_bytes_; }

  IndexFile& file_;
  std::uint64_t header_;
  bool known_ = false;  // is nothing filtered?
  std::uint64_t width_ = 0, first_ = 0, largest_ = 0, root_ = kNowhere, rows_ = 0;
  std::size_t offset_bytes_ = 0, length_bytes_ = 0;
  std::vector<std::uint64_t> blocks_;  // of the root, if it has rows
};

struct Elsewhere {
  std::uint64_t heap = kNowhere, names = kNowhere;
};

Elsewhere elsewhere_of(std::span<const std::byte> message) {
  Reader reader(message);
  reader.take(1);
  const std::uint64_t flags = reader.number(1);
  if ((flags & 1) != 0) reader.take(2);
  Elsewhere found;
  found.heap = reader.number(8);
  found.names = reader.number(8);
  return reader.ok() ? found : Elsewhere();
}

Status read_elsewhere(IndexFile& file, const Elsewhere& at, std::vector<Bytes>& messages) {
  FractalHeap heap(file, at.heap);
  if (Status status = heap.open(); !status) return status;
  constexpr std::uint64_t kByName = 8, kIdentifier = 8, kShared = 2;
  std::uint64_t total = 0;
  Tree2Records records;
  records.bytes = [](std::uint64_t kind) -> std::uint64_t {
    return kind == kByName ? kIdentifier + 1 + 4 + 4 : 0;
  };
  records.use = [&](std::uint64_t, Reader& record, std::uint64_t) -> Status {
    const Reader identifier(record.take(kIdentifier));
    if ((record.number(1) & kShared) != 0) return {};
    Result<Bytes> message = heap.get(identifier);
    if (!message) return std::move(message).error();
    total += message->size();
    if (total > kMostBytes) return file.damaged("there are too many attributes", at.heap);
    if (!message->empty()) messages.push_back(*std::move(message));
    return {};
  };
  return each_record(file, at.names, records);
}

}  // namespace

Result<std::vector<Bytes>> attribute_messages(IndexFile& file, std::uint64_t header) {
  std::vector<Bytes> messages;
  Elsewhere elsewhere;
  Status status = ObjectHeader(file).each(header, [&](const Message& message) {
    if (message.elsewhere) return true;
    if (message.kind == Message::attribute) {
      messages.emplace_back(message.data.begin(), message.data.end());
    } else if (message.kind == Message::attributes_elsewhere) {
      elsewhere = elsewhere_of(message.data);
    }
    return true;
  });
  if (status.ok() && elsewhere.heap != kNowhere && elsewhere.names != kNowhere) {
    status = read_elsewhere(file, elsewhere, messages);
  }
  if (!status) return std::move(status).error();
  return messages;
}

}  // namespace penstock::formats::hdf5
