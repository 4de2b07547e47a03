#include "formats/chunked/array.h"

#include <cstring>

namespace penstock::formats::chunked {
namespace {

// a * b, or nothing if that is more than `most`.
std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b, std::uint64_t most) {
  std::uint64_t result;
  if (__builtin_mul_overflow(a, b, &result) || result > most) return std::nullopt;
  return result;
}

Error impossible(const Array& array, const std::string& what) {
  return Error(Code::corrupt, "array '" + array.name + "': " + what).in_file(array.place);
}

void copy_from(std::size_t d, std::byte* to, std::span<const std::ptrdiff_t> to_strides,
               const std::byte* from, std::span<const std::ptrdiff_t> from_strides,
               std::span<const std::uint64_t> extents, std::size_t item) {
  const std::uint64_t count = extents[d];
  if (d + 1 < extents.size()) {
    for (std::uint64_t i = 0; i < count; ++i, to += to_strides[d], from += from_strides[d]) {
      copy_from(d + 1, to, to_strides, from, from_strides, extents, item);
    }
    return;
  }
  const auto each = [&](auto fixed) {
    for (std::uint64_t i = 0; i < count; ++i, to += to_strides[d], from += from_strides[d]) {
      std::memcpy(to, from, fixed == 0 ? item : fixed);
    }
  };
  switch (item) {
    case 1:
      return each(std::integral_constant<std::size_t, 1>());
    case 2:
      return each(std::integral_constant<std::size_t, 2>());
    case 4:
      return each(std::integral_constant<std::size_t, 4>());
    case 8:
      return each(std::integral_constant<std::size_t, 8>());
    default:
      return each(std::integral_constant<std::size_t, 0>());
  }
}

class PlainRows final : public RowReader {
 public:
  PlainRows(std::shared_ptr<const storage::Source> source, std::uint64_t offset)
      : source_(std::move(source)), offset_(offset) {}
  Status read(std::uint64_t first, std::uint64_t count, std::span<std::byte> into) const override {
    return source_->read(offset_ + first * (into.size() / count), into);
  }
  std::optional<BytesAt> place(std::uint64_t first, std::uint64_t count,
                               std::uint64_t row_bytes) const override {
    return BytesAt{source_, {offset_ + first * row_bytes, count * row_bytes}};
  }

 private:
  std::shared_ptr<const storage::Source> source_;
  std::uint64_t offset_;
};

}  // namespace

std::shared_ptr<const RowReader> plain_rows(std::shared_ptr<const storage::Source> source,
                                            std::uint64_t offset) {
  return std::make_shared<const PlainRows>(std::move(source), offset);
}

Status check(Array& array) {
  const Extents &shape = array.shape, &chunk = array.chunk;
  if (shape.empty()) {
    return Error(Code::invalid_argument,
                 "'" + array.name + "' is a single value, or empty: it has no rows to be samples")
        .in_file(array.place);
  }
  if (shape.size() > kMostDimensions) {
    return Error(Code::unsupported, "array '" + array.name + "' has " +
                                        std::to_string(shape.size()) + " dimensions; at most " +
                                        std::to_string(kMostDimensions) + " can be read")
        .in_file(array.place);
  }
  if (shape[0] > std::uint64_t(1) << 62) return impossible(array, "it has too many rows");
  if (array.varying != Varying::no) return {};  // row_bytes is 0
  array.row_bytes = array.element.bytes;
  for (std::size_t d = 1; d < shape.size(); ++d) {
    const auto bytes = product(array.row_bytes, shape[d], kMostRowBytes);
    if (!bytes) return impossible(array, "a row of it is larger than 4 GB");
    array.row_bytes = *bytes;
  }
  if (array.rows != nullptr) return {};
  if (chunk.size() != shape.size()) {
    return impossible(array, "chunks have " + std::to_string(chunk.size()) +
                                 " dimensions, the array has " + std::to_string(shape.size()));
  }
  array.chunk_bytes = array.element.bytes;
  array.chunk_count = 1;
  array.flat = true;
  array.grid.clear();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (chunk[d] == 0) return impossible(array, "a chunk has an extent of 0");
    const auto bytes = product(array.chunk_bytes, chunk[d], kMostChunkBytes);
    if (!bytes) return impossible(array, "a chunk of it is larger than 4 GB");
    array.chunk_bytes = *bytes;
    array.grid.push_back(shape[d] / chunk[d] + (shape[d] % chunk[d] != 0 ? 1 : 0));
    const auto count = product(array.chunk_count, array.grid[d], std::uint64_t(1) << 62);
    if (!count) return impossible(array, "it has too many chunks");
    array.chunk_count = *count;
    array.flat = array.flat && (d == 0 || chunk[d] == shape[d]);
  }
  if (array.grid[0] > 0 && array.chunk_count / array.grid[0] > kMostChunksOfRow) {
    return impossible(array, "a row of it lies in more than a million chunks");
  }
  return {};
}

void copy_elements(std::byte* to, std::span<const std::ptrdiff_t> to_strides, const std::byte* from,
                   std::span<const std::ptrdiff_t> from_strides,
                   std::span<const std::uint64_t> extents, std::size_t item) {
  for (const std::uint64_t extent : extents) {
    if (extent == 0) return;
  }
  // Dimensions at the end whose elements lie side by side on both sides are one large element.
  std::size_t dims = extents.size();
  while (dims > 0 && to_strides[dims - 1] == std::ptrdiff_t(item) &&
         from_strides[dims - 1] == std::ptrdiff_t(item)) {
    item *= std::size_t(extents[--dims]);
  }
  if (dims == 0) {
    std::memcpy(to, from, item);
    return;
  }
  copy_from(0, to, to_strides, from, from_strides, extents.first(dims), item);
}

std::vector<std::ptrdiff_t> dense_strides(std::span<const std::uint64_t> extents,
                                          std::size_t item) {
  std::vector<std::ptrdiff_t> strides(extents.size());
  auto stride = std::ptrdiff_t(item);
  for (std::size_t d = extents.size(); d-- > 0; stride *= std::ptrdiff_t(extents[d])) {
    strides[d] = stride;
  }
  return strides;
}

}  // namespace penstock::formats::chunked
