#include "formats/npy/rows.h"

#include <utility>

#include "formats/chunked/array.h"
#include "formats/npy/load.h"
#include "storage/fault_guard.h"
#include "storage/file.h"

namespace penstock::formats::npy {

Result<std::shared_ptr<const Rows>> Rows::open(const std::string& path, std::size_t item_bytes) {
  Result<std::shared_ptr<const storage::File>> file = storage::File::open(path);
  if (!file) return std::move(file).error();
  Result<Header> header = read_header(**file);
  if (!header) return std::move(header).error();
  if (header->item_bytes == 0) header->item_bytes = item_bytes;
  if (Status status = check_size(*header, (*file)->size()); !status) {
    return std::move(status).error().in_file(path);
  }
  if (header->shape.empty()) {
    return Error(Code::invalid_argument, "a single value has no rows: load it with io.load_npy")
        .in_file(path);
  }
  std::size_t row_bytes = header->item_bytes;
  for (std::size_t d = 1; d < header->shape.size(); ++d) {
    if (__builtin_mul_overflow(row_bytes, std::size_t(header->shape[d]), &row_bytes) ||
        row_bytes >> 48 != 0) {
      return Error(Code::corrupt, "not a .npy array: its shape is too large").in_file(path);
    }
  }
  Result<std::shared_ptr<const storage::Map>> map = storage::Map::open(path);
  if (!map) return std::move(map).error();
  if ((*map)->stamp() != (*file)->stamp()) {
    return Error(Code::io, "the file was changed while it was opened: open it again").in_file(path);
  }
  return std::make_shared<const Rows>(path, *std::move(map), *std::move(header), row_bytes);
}

Rows::Rows(std::string path, std::shared_ptr<const storage::Map> map, Header header,
           std::size_t row_bytes)
    : path_(std::move(path)),
      map_(std::move(map)),
      header_(std::move(header)),
      row_bytes_(row_bytes),
      strides_(header_.shape.size()) {
  auto stride = std::ptrdiff_t(header_.item_bytes);
  for (std::size_t k = 0; k < strides_.size(); ++k) {
    const std::size_t d = header_.fortran ? k : strides_.size() - 1 - k;
    strides_[d] = stride;
    stride *= std::ptrdiff_t(header_.shape[d]);
  }
}

void Rows::read(std::span<const std::uint64_t> firsts, std::uint64_t count,
                std::span<std::byte* const> into, std::span<Status> outcomes) const {
  const std::size_t item = header_.item_bytes;
  std::vector<std::uint64_t> extents(header_.shape.begin(), header_.shape.end());
  extents[0] = count;
  const std::vector<std::ptrdiff_t> dense = chunked::dense_strides(extents, item);
  const std::byte* elements = map_->bytes().data() + header_.data_offset;
  const auto known = [&](std::uint64_t first) {
    return count <= size() && first <= size() - count;
  };
  const auto copy = [&](std::size_t k) {
    chunked::copy_elements(into[k], dense, elements + std::ptrdiff_t(firsts[k]) * strides_[0],
                           strides_, extents, item);
  };
  const bool there = storage::survives([&] {
    for (std::size_t k = 0; k < firsts.size(); ++k) {
      if (known(firsts[k])) copy(k);
    }
  });
  const Status whole = storage::still_whole(path_, map_->stamp().size, there);
  for (std::size_t k = 0; k < firsts.size(); ++k) {
    if (!known(firsts[k])) {
      outcomes[k] =
          Error(Code::out_of_range, "there is no row " + std::to_string(firsts[k] + count - 1) +
                                        "; there are " + std::to_string(size()))
              .in_file(path_);
    } else if (whole.ok() || header_.fortran) {
      outcomes[k] = whole;
    } else {  // which of them are still there?
      const bool one = storage::survives([&] { copy(k); });
      const std::uint64_t end = header_.data_offset + (firsts[k] + count) * row_bytes_;
      outcomes[k] = storage::still_whole(path_, end, one);
    }
  }
}

void Rows::tell_places(std::span<const std::uint64_t> firsts, std::uint64_t count,
                       storage::ReadAhead& ahead) const {
  if (header_.fortran && header_.shape.size() > 1) return;
  const auto file = storage::File::open(path_);
  if (!file) return;
  for (const std::uint64_t first : firsts) {
    if (first < size()) {
      ahead.add(*file, {header_.data_offset + first * row_bytes_, count * row_bytes_});
    }
  }
}

}  // namespace penstock::formats::npy
