// IndexFile: how the structures that say where chunks are get read: blocks of bytes at addresses,
// most of which end with a checksum. Nothing that they say is believed before it is checked.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/error.h"
#include "storage/source.h"

namespace penstock::formats::hdf5 {

using Bytes = std::vector<std::byte>;

// Little-endian numbers, one after the other. What is not there is 0, and ok() is false.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  std::uint64_t number(std::size_t bytes);  // 8 at most
  std::span<const std::byte> take(std::size_t bytes);
  std::size_t left() const noexcept { return rest_.size(); }
  bool ok() const noexcept { return ok_; }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

bool begins(std::span<const std::byte> bytes, std::string_view mark);

// Bob Jenkins' lookup3, as HDF5 uses it.
std::uint32_t checksum_of(std::span<const std::byte> bytes) noexcept;
inline constexpr std::uint64_t kChecksumBytes = 4;

// A part of an index that ends with a checksum, which counts into its size. The other numbers are
// the caller's.
struct IndexBlock {
  std::uint64_t address = 0, size = 0;
  std::uint64_t first = 0, count = 0;
};

class IndexFile {
 public:
  // Addresses are relative to `base`. With `checksums` false a wrong one is no error.
  IndexFile(const storage::Source& source, std::uint64_t base, bool checksums)
      : source_(source), base_(base), checksums_(checksums) {}

  std::uint64_t base() const noexcept { return base_; }
  // How far addresses go.
  std::uint64_t size() const noexcept {
    return base_ < source_.size() ? source_.size() - base_ : 0;
  }
  bool holds(std::uint64_t address, std::uint64_t bytes) const noexcept {
    return address <= size() && bytes <= size() - address;
  }

  Error damaged(const std::string& what, std::uint64_t address) const;
  Error outside(std::uint64_t address) const;

  // At most 16 MB.
  Result<Bytes> read(std::uint64_t address, std::uint64_t size) const;
  // The same for many, those that lie near one another together. The bytes are in `into`, which has
  // the size that is wanted.
  Status read(std::span<const std::uint64_t> addresses, std::span<Bytes> into) const;

  // To be read by read_blocks(). Fails if it lies outside the file, or if all blocks of the index
  // take more than the file: they do not overlap, so that it would go round.
  Status want(const IndexBlock& block, std::vector<IndexBlock>& blocks);

  // Hands each block, without its checksum, to `use`, in order. Many are read together, so that a
  // file from afar takes few rounds.
  using Use = std::function<Status(const IndexBlock&, std::span<const std::byte>)>;
  Status read_blocks(std::span<const IndexBlock> blocks, const Use& use) const;
  // want() and read_blocks() for one.
  Status read_block(const IndexBlock& block, const Use& use);

 private:
  const storage::Source& source_;
  std::uint64_t base_;
  bool checksums_;
  std::uint64_t wanted_ = 0;  // bytes of all blocks so far
};

}  // namespace penstock::formats::hdf5
