#include "formats/npy/load.h"

#include <algorithm>
#include <cstring>

#include "storage/map.h"

namespace penstock::formats::npy {
namespace {

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

}  // namespace

Result<Tensor> Array::tensor() const {
  if (!header.dtype) {
    return Error(Code::unsupported, "a .npy array of dtype '" + header.descr + "' is no tensor");
  }
  const Dims shape{std::span<const std::int64_t>(header.shape)};
  const auto bytes = std::size_t(*header.data_bytes());
  Buffer held = memory;
  std::size_t at = offset;
  if (reinterpret_cast<std::uintptr_t>(memory.data() + offset) % size_of(*header.dtype) != 0) {
    Result<Buffer> copy = Buffer::allocate(std::max<std::size_t>(bytes, 1));
    if (!copy) return std::move(copy).error();
    std::memcpy(copy->data(), memory.data() + offset, bytes);
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
  const auto file = storage::Map::open(path);
  if (!file) return file.error();
  const std::span<const std::byte> bytes = (*file)->bytes();
  Buffer memory = Buffer::wrap_read_only(bytes.data(), bytes.size(), [map = *file] {});
  Result<Array> array = over(bytes, std::move(memory));
  if (!array) array.error().in_file(path);
  return array;
}

}  // namespace penstock::formats::npy
