// ChunkTable: the chunks that an index names, by their number in the array as it is now.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "formats/chunked/hdf5/index_file.h"
#include "formats/chunked/hdf5/module.h"

namespace penstock::formats::hdf5 {

// Of the extents of an array, and of the address of a chunk.
inline constexpr std::uint64_t kUnlimited = ~std::uint64_t(0);
inline constexpr std::uint64_t kNowhere = Dataset::kNowhere;

class ChunkTable {
 public:
  // `most`: as far as `shape` may grow. It stays while the table is used. No extent of `chunk` is
  // 0.
  ChunkTable(const IndexFile& file, const std::vector<std::uint64_t>& shape,
             const std::vector<std::uint64_t>& most, const std::vector<std::uint64_t>& chunk);

  // What an index says of a chunk takes entry_bytes(): its address, and if it is filtered its size,
  // in `size_bytes`, and which filters were skipped. A chunk without filters has `plain_bytes`.
  void set_entries(std::uint64_t plain_bytes, std::size_t size_bytes);
  std::uint64_t entry_bytes(bool filtered) const noexcept {
    return filtered ? 8 + size_bytes_ + 4 : 8;
  }
  ChunkPlace entry(Reader& reader, bool filtered) const;

  // A chunk at these coordinates, counted in chunks. What is nowhere, or outside the array as it is
  // now, is left out. `at`: where the index says so.
  Status add(ChunkPlace place, std::span<const std::uint64_t> cell, std::uint64_t at);

  // Arrays number chunks in C order over as many as there can be; what may grow without end must be
  // the first dimension, so it is put there. Fails if that cannot be; else add_numbered() may be
  // used. `endless`: must there be such a dimension?
  Status number_cells(bool endless, std::uint64_t at);
  Status add_numbered(const ChunkPlace& place, std::uint64_t number, std::uint64_t at);
  // Chunks of the same size one after the other, all of them: numbered as above.
  Status add_all(std::uint64_t address);

  // Sorted by number.
  Result<std::vector<ChunkPlace>> finish();

 private:
  const IndexFile& file_;
  const std::vector<std::uint64_t>& most_;
  std::vector<std::uint64_t> cells_;   // chunks along each dimension, now
  std::vector<std::uint64_t> limits_;  // and at most
  std::vector<std::size_t> order_;     // dimensions as they are numbered, slowest first
  std::vector<std::uint64_t> steps_;   // of the number, by dimension
  std::vector<std::uint64_t> cell_;
  std::uint64_t plain_bytes_ = 0;
  std::size_t size_bytes_ = 8;
  std::vector<ChunkPlace> places_;
};

}  // namespace penstock::formats::hdf5
