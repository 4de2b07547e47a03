// ExpectedRows: rows that will be read soon, kept apart when their chunk is unpacked for another.
//
// A shuffle over more chunks than the cache holds wants a row of a chunk now and others later, when
// the chunk is gone. Whoever knows what is read next says so. When a chunk is unpacked, the rows of
// it that are expected are copied and kept until they are read, once: so it is unpacked once for
// all of them.
//
// Thread safety: every member may be called from any thread at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "penstock/buffer.h"

namespace penstock::formats::chunked {

class ExpectedRows {
 public:
  struct Layout {  // of an array
    std::uint64_t row_bytes = 0, chunk_rows = 0;
  };

  // `budget` in bytes of rows that are kept, with what it takes to find them.
  ExpectedRows(std::uint64_t budget, std::vector<Layout> arrays);

  // How many rows fit.
  std::uint64_t capacity() const noexcept { return capacity_; }

  // These will be read, in about this order. Of more than are worth knowing the oldest are
  // forgotten.
  void expect(std::span<const std::uint64_t> rows);

  // Row rows[i] of array a goes to into[i * arrays + a] if it is kept. Whether it is or not, it is
  // no longer expected.
  void take(std::span<const std::uint64_t> rows, std::span<Buffer> into);

  // Chunk `chunk` of an array, just unpacked: copies what is expected of it.
  void keep(std::size_t array, std::uint64_t chunk, const Buffer& unpacked, BufferPool& pool);

  bool holds(std::size_t array, std::uint64_t row) const;
  std::uint64_t used() const;  // bytes

 private:
  struct Row {
    std::uint64_t row = 0, number = 0;  // that of its expectation
    Buffer memory;                      // none: its chunk was not unpacked since
  };
  using Chunks = std::unordered_map<std::uint64_t, std::vector<Row>>;  // rows by their chunk

  template <class IsIt>
  Buffer remove(std::size_t array, std::uint64_t row, const IsIt& is_it);
  std::uint64_t cost(std::size_t array) const noexcept;

  const std::uint64_t budget_;
  const std::vector<Layout> arrays_;
  std::uint64_t capacity_ = 0;
  mutable std::mutex mutex_;
  std::vector<Chunks> chunks_;                                // of each array
  std::deque<std::pair<std::uint64_t, std::uint64_t>> told_;  // rows and numbers, oldest first
  std::uint64_t next_number_ = 0, used_ = 0;
};

}  // namespace penstock::formats::chunked
