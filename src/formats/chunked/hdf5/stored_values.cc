#include "formats/chunked/hdf5/stored_values.h"

#include <optional>

#include "formats/chunked/hdf5/attribute_messages.h"
#include "formats/chunked/hdf5/global_heap.h"
#include "formats/chunked/hdf5/object_header.h"

namespace penstock::formats::hdf5 {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t(1) << 28;  // of an attribute

// What a message says of a fill value; nothing: it says that there is none.
Result<Bytes> fill_of(const IndexFile& file, const Message& message, std::uint64_t header) {
  Reader reader(message.data);
  bool given = true;
  if (message.kind == Message::fill) {
    const std::uint64_t version = reader.number(1);
    if (version == 1 || version == 2) {
      reader.take(2);
      given = reader.number(1) != 0 || version == 1;
    } else if (version == 3) {
      given = (reader.number(1) & 0x20) != 0;
    } else {
      return file.damaged("a fill value is of an unknown version", header);
    }
  }
  Bytes bytes;
  if (given) {
    // In version 1 all ones say that there is none.
    const std::uint64_t size = reader.number(4);
    if (reader.ok() && size != 0xffffffff) {
      const std::span<const std::byte> data = reader.take(std::size_t(size));
      bytes.assign(data.begin(), data.end());
    }
  }
  if (!reader.ok()) return file.damaged("a fill value ends early", header);
  return bytes;
}

// The bytes of an attribute's elements, if it has this name.
std::optional<std::span<const std::byte>> elements_of(std::span<const std::byte> message,
                                                      const std::string& name) {
  Reader reader(message);
  const std::uint64_t version = reader.number(1);
  if (version < 1 || version > 3) return std::nullopt;
  reader.take(1);
  std::uint64_t sizes[3];  // of name, type and extents
  for (std::uint64_t& size : sizes) {
    size = reader.number(2);
    if (version == 1) size = (size + 7) / 8 * 8;
  }
  if (version == 3) reader.take(1);
  const std::span<const std::byte> own = reader.take(std::size_t(sizes[0]));
  reader.take(std::size_t(sizes[1]));
  reader.take(std::size_t(sizes[2]));
  if (!reader.ok() || !begins(own, name) ||
      (own.size() > name.size() && own[name.size()] != std::byte(0))) {
    return std::nullopt;
  }
  return reader.take(reader.left());
}

}  // namespace

Result<Stored::Bytes> StoredValues::fill(const Object& dataset, std::uint64_t item_bytes) const {
  const IndexFile file(*source_, dataset.base, checksums_);
  std::optional<Result<Bytes>> found;
  bool newest = false, elsewhere = false;
  Status status = ObjectHeader(file).each(dataset.header, [&](const Message& message) {
    if (message.kind != Message::fill && message.kind != Message::old_fill) return true;
    elsewhere = elsewhere || message.elsewhere;
    if (!newest) found = fill_of(file, message, dataset.header);
    newest = newest || message.kind == Message::fill;
    return true;
  });
  if (!status) return std::move(status).error();
  if (elsewhere) {
    return Error(Code::unsupported,
                 "its fill value is kept in a table of messages that several objects share");
  }
  if (!found) return Bytes();
  if (!*found || (*found)->empty()) return *std::move(found);
  if ((*found)->size() != kReferenceBytes) {
    return file.damaged("a fill value has another size than its type", dataset.header);
  }
  Bytes value;
  const auto reference = std::span<const std::byte>(**found).first<kReferenceBytes>();
  status = GlobalHeap(source_, dataset.base).read(reference, item_bytes, value);
  if (!status) return std::move(status).error();
  return *std::move(found);
}

Result<std::vector<Stored::Bytes>> StoredValues::attribute(const Object& owner,
                                                           const std::string& name,
                                                           std::uint64_t count,
                                                           std::uint64_t item_bytes) const {
  const Error unknown(Code::unsupported,
                      "text or lists of variable length in an object that keeps its attributes "
                      "in a way that is not known here");
  if (owner.header == Dataset::kNowhere) return unknown;
  IndexFile file(*source_, owner.base, checksums_);
  if (!known_ || known_->first != owner.header) {
    Result<std::vector<Bytes>> messages = attribute_messages(file, owner.header);
    if (!messages) return std::move(messages).error();
    known_.emplace(owner.header, *std::move(messages));
  }
  std::optional<std::span<const std::byte>> elements;
  for (const Bytes& message : known_->second) {
    if (!elements) elements = elements_of(message, name);
  }
  if (!elements) return unknown;
  if (count > elements->size() / kReferenceBytes) {
    return file.damaged("attribute '" + name + "' ends early", owner.header);
  }
  const GlobalHeap heap(source_, owner.base);
  std::vector<Bytes> values{std::size_t(count)};
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto reference = elements->subspan(i * kReferenceBytes);
    Status status = heap.read(reference.first<kReferenceBytes>(), item_bytes, values[i]);
    if (!status) return std::move(status).error();
    total += values[i].size();
    if (total > kMostBytes) return Error(Code::unsupported, "larger than 256 MB");
  }
  return values;
}

}  // namespace penstock::formats::hdf5
