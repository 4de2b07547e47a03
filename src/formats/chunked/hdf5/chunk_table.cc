#include "formats/chunked/hdf5/chunk_table.h"

#include <algorithm>

namespace penstock::formats::hdf5 {
namespace {

std::vector<std::uint64_t> cells_of(const std::vector<std::uint64_t>& shape,
                                    const std::vector<std::uint64_t>& chunk) {
  std::vector<std::uint64_t> cells(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    cells[d] = shape[d] / chunk[d] + (shape[d] % chunk[d] != 0 ? 1 : 0);
  }
  return cells;
}

}  // namespace

ChunkTable::ChunkTable(const IndexFile& file, const std::vector<std::uint64_t>& shape,
                       const std::vector<std::uint64_t>& most,
                       const std::vector<std::uint64_t>& chunk)
    : file_(file), most_(most), cells_(cells_of(shape, chunk)), limits_(cells_of(most, chunk)) {}

void ChunkTable::set_entries(std::uint64_t plain_bytes, std::size_t size_bytes) {
  plain_bytes_ = plain_bytes;
  size_bytes_ = size_bytes;
}

ChunkPlace ChunkTable::entry(Reader& reader, bool filtered) const {
  ChunkPlace place;
  place.offset = reader.number(8);
  place.size = filtered ? reader.number(size_bytes_) : plain_bytes_;
  if (filtered) place.skipped = std::uint32_t(reader.number(4));
  return place;
}

Status ChunkTable::add(ChunkPlace place, std::span<const std::uint64_t> cell, std::uint64_t at) {
  if (place.offset == kNowhere) return {};
  bool inside = true;  // of the array as it is now: it may have been larger
  place.number = 0;
  for (std::size_t d = 0; d < cells_.size(); ++d) {
    inside = inside && cell[d] < cells_[d];
    place.number = place.number * cells_[d] + cell[d];
  }
  if (!file_.holds(place.offset, place.size)) {
    return file_.damaged("a chunk lies outside it; was it cut off?", at);
  }
  place.offset += file_.base();
  if (inside) places_.push_back(place);
  return {};
}

Status ChunkTable::number_cells(bool endless, std::uint64_t at) {
  order_.clear();
  steps_.assign(cells_.size(), 1);
  cell_.assign(cells_.size(), 0);
  for (std::size_t d = 0; d < cells_.size(); ++d) {
    if (most_[d] == kUnlimited) order_.push_back(d);
  }
  if (order_.size() != (endless ? 1 : 0)) {
    return file_.damaged("its chunks are indexed as if it could grow in another way", at);
  }
  for (std::size_t d = 0; d < cells_.size(); ++d) {
    if (most_[d] != kUnlimited) order_.push_back(d);
    if (cells_[d] > limits_[d]) return file_.damaged("it is larger than it may become", at);
  }
  std::uint64_t step = 1;
  for (std::size_t i = order_.size(); i-- > 0;) {
    steps_[order_[i]] = step;
    if (i > 0 && __builtin_mul_overflow(step, limits_[order_[i]], &step)) {
      return file_.damaged("it has too many chunks", at);
    }
  }
  return {};
}

Status ChunkTable::add_numbered(const ChunkPlace& place, std::uint64_t number, std::uint64_t at) {
  for (const std::size_t d : order_) {
    if (steps_[d] == 0) return {};  // nothing can ever be in it
    cell_[d] = number / steps_[d];
    number %= steps_[d];
  }
  return add(place, cell_, at);
}

Status ChunkTable::add_all(std::uint64_t address) {
  if (address == kNowhere) return {};
  for (const std::uint64_t count : cells_) {
    if (count == 0) return {};
  }
  // The last one has the highest number: if it is in the file, all are, and there are not too many.
  std::uint64_t last = 0, part = 0;
  bool fits = true;
  for (std::size_t d = 0; d < cells_.size(); ++d) {
    fits = fits && !__builtin_mul_overflow(cells_[d] - 1, steps_[d], &part) &&
           !__builtin_add_overflow(last, part, &last);
  }
  if (!fits || plain_bytes_ == 0 || !file_.holds(address, 0) ||
      last >= (file_.size() - address) / plain_bytes_) {
    return file_.outside(address);
  }
  std::vector<std::uint64_t> cell(cells_.size(), 0);
  for (;;) {
    std::uint64_t number = 0;
    for (std::size_t d = 0; d < cells_.size(); ++d) number += cell[d] * steps_[d];
    Status status = add({0, address + number * plain_bytes_, plain_bytes_, 0}, cell, address);
    if (!status) return status;
    std::size_t d = cells_.size();
    while (d > 0 && ++cell[d - 1] == cells_[d - 1]) cell[--d] = 0;
    if (d == 0) return {};
  }
}

Result<std::vector<ChunkPlace>> ChunkTable::finish() {
  std::sort(places_.begin(), places_.end(),
            [](const ChunkPlace& a, const ChunkPlace& b) { return a.number < b.number; });
  for (std::size_t i = 1; i < places_.size(); ++i) {
    if (places_[i].number == places_[i - 1].number) {
      return file_.damaged("a chunk is there twice", places_[i].offset - file_.base());
    }
  }
  return std::move(places_);
}

}  // namespace penstock::formats::hdf5
