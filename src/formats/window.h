// Window: the part of a stream that a parser looks at, in pooled memory.
//
// A parser asks for bytes by their offset in the stream, going forward. Bytes that it passes over
// are skipped, which costs nothing in a file: so one parser serves a pass over headers only and one
// over everything. What it has asked for stays until keep_from says that it may go.
//
// Bytes once handed out never move while somebody holds a copy of their memory: records can be
// views into it. If nobody does, the same block is filled again and again, which keeps it in cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "penstock/buffer.h"
#include "penstock/error.h"
#include "storage/stream.h"

namespace penstock::formats {

class Window {
 public:
  enum class Reading : std::uint8_t {
    all,      // whole blocks, but for what is read past them
    headers,  // little at first, more while what is asked for lies side by side
  };

  // Both must outlive the window.
  Window(storage::Stream& stream, BufferPool& pool, Reading reading,
         std::size_t block = std::size_t(256) << 10)
      : stream_(&stream),
        pool_(&pool),
        block_size_(std::size_t(std::clamp<std::uint64_t>(stream.size().value_or(block),
                                                          std::uint64_t(4) << 10, block))),
        step_(reading == Reading::all ? block_size_ : 0),
        first_(reading == Reading::all ? kLargestFirst : kSmallestFirst) {}

  // Bytes [offset, offset + size), fewer at the end of the stream. Valid until the next call, or
  // for as long as their memory is held. An Error comes again with every call that needs more.
  Result<std::span<const std::byte>> at(std::uint64_t offset, std::size_t size) {
    if (offset >= block_.base && offset + size <= block_.end()) [[likely]] {
      return std::span<const std::byte>(block_.memory.data() + (offset - block_.base), size);
    }
    return load(offset, size);
  }

  // Bytes before `offset` are not needed any more.
  void keep_from(std::uint64_t offset) noexcept {
    kept_ = offset;
    if (!older_.empty()) [[unlikely]]
      forget();
  }

  // Bytes from `offset` on, where the window ends or before, into memory that is not the window's:
  // what is not there yet goes straight from the stream. Fewer at the end. They are not kept.
  Result<std::size_t> read_past(std::uint64_t offset, std::span<std::byte> into);

  // Bytes [from, to) are not needed; what was kept before `from` stays.
  void pass_over(std::uint64_t from, std::uint64_t to);

  // Memory that was asked for and kept: its bytes, writable, and who owns them. Nothing if they lie
  // in several pieces, or were not kept.
  struct View {
    std::span<std::byte> bytes;
    const Buffer* memory = nullptr;
  };
  View view(std::uint64_t offset, std::uint64_t size) const noexcept;

  // The number of bytes in all, where it is known.
  std::optional<std::uint64_t> size() const noexcept { return stream_->size(); }
  BufferPool& pool() const noexcept { return *pool_; }

 private:
  struct Block {
    Buffer memory;
    std::uint64_t base = 0;  // the offset of its first byte
    std::size_t filled = 0;  // bytes that were read into it

    std::uint64_t end() const noexcept { return base + filled; }
  };

  Result<std::span<const std::byte>> load(std::uint64_t offset, std::size_t size);
  Status make_room(std::uint64_t end);
  Status fill(std::uint64_t end);
  void forget() noexcept;

  storage::Stream* stream_;
  BufferPool* pool_;
  std::size_t block_size_;
  static constexpr std::size_t kSmallestFirst = 512, kLargestFirst = std::size_t(4) << 10;
  std::size_t step_;   // how much was read the last time; twice as much is next
  std::size_t first_;  // how much is read after a leap: what was needed after others

  Block block_;
  std::vector<Block> older_;  // with bytes that are still kept; mostly none
  std::uint64_t kept_ = 0;    // what lies before may go
  std::uint64_t passed_ = 0;  // of block_, what lies before may go
  bool ended_ = false;
  std::optional<Error> failure_;
};

}  // namespace penstock::formats
