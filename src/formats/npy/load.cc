#include "formats/npy/load.h"

#include <algorithm>
#include <cstring>

#include "storage/fault_guard.h"
#include "storage/file.h"
#include "storage/map.h"

namespace penstock::formats::npy {

Status check_size(const Header& header, std::uint64_t file_bytes) {
  if (header.item_bytes == 0) return {};
  const Result<std::uint64_t> bytes = header.data_bytes();
  if (!bytes) return bytes.error();
  if (*bytes <= file_bytes - header.data_offset) return {};
  return Error(Code::corrupt,
               "not a .npy array: it has fewer elements than its shape; was it cut "
               "off?")
      .at_offset(std::int64_t(file_bytes));
}

Result<Header> read_header(const storage::Source& source) {
  const auto here = [&](Error error) { return std::move(error).in_file(source.name()); };
  const std::uint64_t size = source.size();
  std::vector<std::byte> bytes(std::size_t(std::min<std::uint64_t>(size, kStartBytes)));
  if (Status status = source.read(0, bytes); !status) return std::move(status).error();
  const Result<std::size_t> whole = header_bytes(bytes);
  if (!whole) return here(whole.error());
  bytes.resize(std::size_t(std::min<std::uint64_t>(size, *whole)));
  if (Status status = source.read(0, bytes); !status) return std::move(status).error();
  Result<Header> header = parse_header(bytes);
  if (!header) return here(std::move(header).error());
  if (Status status = check_size(*header, size); !status) return here(std::move(status).error());
  return header;
}

Result<Tensor> Array::tensor() const {
  if (!header.dtype) {
    return Error(Code::unsupported,
                 "a .npy array of dtype '" + header.descr +
                     "' is not decoded natively: keep the bytes and give them to "
                     "penstock.io.load_npy in a map");
  }
  const Dims shape{std::span<const std::int64_t>(header.shape)};
  const auto bytes = std::size_t(*header.data_bytes());
  Buffer held = memory;
  std::size_t at = offset;
  if (reinterpret_cast<std::uintptr_t>(memory.data() + offset) % size_of(*header.dtype) != 0) {
    Result<Buffer> copy = Buffer::allocate(std::max<std::size_t>(bytes, 1));
    if (!copy) return std::move(copy).error();
    const bool there = storage::survives([to = copy->data(), from = memory.data() + offset, bytes] {
      std::memcpy(to, from, bytes);
    });
    if (!there) return Error(Code::io, "the file has become shorter while it was read");
    held = *std::move(copy);
    at = 0;
  }
  return Tensor::over(std::move(held), *header.dtype, shape, header.strides(), at);
}

Result<Array> over(std::span<const std::byte> file, Buffer memory) {
  Result<Header> header = parse_header(file);
  if (!header) return std::move(header).error();
  if (Status status = check_size(*header, file.size()); !status) return std::move(status).error();
  Array array;
  array.offset = std::size_t(file.data() - memory.data()) + header->data_offset;
  array.header = *std::move(header);
  array.memory = std::move(memory);
  return array;
}

Result<Array> load(const storage::Source& source, BufferPool& pool) {
  const auto here = [&](Error error) { return std::move(error).in_file(source.name()); };
  const auto size = std::size_t(source.size());
  Result<Buffer> memory = pool.allocate(std::max<std::size_t>(size, 1));
  if (!memory) return here(std::move(memory).error());
  const std::span<std::byte> bytes = memory->bytes().first(size);
  if (Status status = source.read(0, bytes); !status) return std::move(status).error();
  Result<Array> array = over(bytes, *std::move(memory));
  if (!array) return here(std::move(array).error());
  return array;
}

Result<Array> map(const std::string& path) {
  const auto file = storage::File::open(path);
  if (!file) return file.error();
  Result<Header> header = read_header(**file);
  if (!header) return std::move(header).error();
  const auto mapped = storage::Map::open(path);
  if (!mapped) return mapped.error();
  if ((*mapped)->stamp() != (*file)->stamp()) {
    return Error(Code::io, "the file was changed while it was opened: open it again").in_file(path);
  }
  const std::span<const std::byte> bytes = (*mapped)->bytes();
  Array array;
  array.offset = header->data_offset;
  array.header = *std::move(header);
  array.memory = Buffer::wrap_read_only(bytes.data(), bytes.size(), [map = *mapped] {});
  return array;
}

}  // namespace penstock::formats::npy
