// Array: rows that are kept in chunks, whatever format they come from.
//
// A format says what an array is (shape, elements, chunk shape, codecs) and where the packed bytes
// of each chunk are; everything else is the same for all of them: unpacking (chain.h), keeping what
// was unpacked (cache.h), and rows as records (rows.h).
//
// Thread safety: immutable once made; ChunkBytes and RowReader may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/chunked/chain.h"
#include "formats/chunked/element.h"
#include "formats/range_fetch.h"
#include "penstock/buffer.h"
#include "penstock/error.h"

namespace penstock::formats::chunked {

using Extents = std::vector<std::uint64_t>;

// A chunk as it lies in the file.
struct Packed {
  Buffer memory;  // none: there is no such chunk, all its elements are the fill value
  std::span<const std::byte> bytes;
  std::uint32_t skipped = 0;  // bit k: codec k of the chain was not used for this chunk
};

// Where a chunk is in a file; `skipped` as above.
struct ChunkAt {
  BytesAt at;
  std::uint32_t skipped = 0;
};

class ChunkBytes {
 public:
  virtual ~ChunkBytes() = default;
  // Chunks are numbered in C order over the grid. Memory comes from `pool`.
  virtual Result<Packed> read(std::uint64_t chunk, BufferPool& pool) const = 0;
  virtual std::string name(std::uint64_t chunk) const = 0;  // the file, for messages
  // Where it is, so that it can be fetched ahead. Nothing: read() has to do.
  virtual std::optional<ChunkAt> place(std::uint64_t) const { return std::nullopt; }
};

// Rows that are read as they are, without chunks of ours.
class RowReader {
 public:
  virtual ~RowReader() = default;
  // `into` has the size of so many rows, in the file's byte order.
  virtual Status read(std::uint64_t first, std::uint64_t count,
                      std::span<std::byte> into) const = 0;
  // A row of varying length, in the file's byte order.
  virtual Status read_one(std::uint64_t, std::vector<std::byte>&) const {
    return Error(Code::internal, "these rows have one length");
  }
  // As that of ChunkBytes. A row has `row_bytes`.
  virtual std::optional<BytesAt> place(std::uint64_t, std::uint64_t, std::uint64_t) const {
    return std::nullopt;
  }
};

// Rows that lie in a file one after the other, the first one at `offset`.
std::shared_ptr<const RowReader> plain_rows(std::shared_ptr<const storage::Source> source,
                                            std::uint64_t offset);

// Rows that have no size in common: text, or a list of numbers. Only with a RowReader.
enum class Varying : std::uint8_t { no, text, numbers };

struct Array {
  std::string name;   // of the field
  std::string place;  // file and name in it, for messages
  Element element;
  Varying varying = Varying::no;  // then `element` is that of a list's numbers, or of 0 bytes
  Extents shape;                  // one extent at least: the rows
  Extents chunk;                  // as long as shape; empty if there is a RowReader
  std::vector<std::byte> fill;    // an element, as this machine has it
  Chain chain;
  std::shared_ptr<const ChunkBytes> chunks;  // this or `rows`
  std::shared_ptr<const RowReader> rows;
  bool scattered = false;  // is each chunk a file?
  bool from_afar = false;  // is it worth while to fetch what will be read?
  std::string note;        // what explain() says of how it is read; mostly nothing

  // Found by check().
  std::uint64_t row_bytes = 0, chunk_bytes = 0, chunk_count = 0;
  Extents grid;       // chunks along each dimension
  bool flat = false;  // a row lies in one chunk, its elements side by side
};

inline constexpr std::uint64_t kMostRowBytes = std::uint64_t(1) << 32;
inline constexpr std::uint64_t kMostChunkBytes = std::uint64_t(1) << 32;
inline constexpr std::uint64_t kMostChunksOfRow = std::uint64_t(1) << 20;
inline constexpr std::size_t kMostDimensions = 9;  // the rows, and those of a Tensor

// Fills in what follows from the rest. Fails with corrupt if the numbers cannot be, and with
// invalid_argument for a single value.
Status check(Array& array);

// Elements from one place to another; strides are in bytes and may be 0. Those of one row of the
// last dimension are copied together where they lie side by side.
void copy_elements(std::byte* to, std::span<const std::ptrdiff_t> to_strides, const std::byte* from,
                   std::span<const std::ptrdiff_t> from_strides,
                   std::span<const std::uint64_t> extents, std::size_t item);

// Of elements side by side, the last dimension fastest.
std::vector<std::ptrdiff_t> dense_strides(std::span<const std::uint64_t> extents, std::size_t item);

}  // namespace penstock::formats::chunked
