// Scratch memory for decoders: kept per thread, reused, bounded.
//
// A lease borrows the calling thread's block for one use; it grows to what is asked for and stays
// warm for the next image. Blocks above kKeepBytes are given back when their lease ends, so one
// huge picture does not stay in memory.
//
// Thread safety: a lease belongs to the thread that made it. One live lease per use and thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::media {

// Which block: a lease of one use may live while others of other uses do.
enum class ScratchUse : std::uint8_t {
  file,    // compressed data, gathered
  raw,     // samples as a codec stores them
  image,   // a picture inside a codec
  rows,    // a few rows inside a codec
  line,    // the row of a PixelWriter
  order,   // small tables
  whole,   // a decoded picture
  region,  // a cut-out of one
  result,  // what is made of it
  count
};

class ScratchLease {
 public:
  static constexpr std::size_t kKeepBytes = std::size_t{16} << 20;

  ScratchLease(ScratchUse use, std::size_t size) noexcept;
  ~ScratchLease();
  ScratchLease(const ScratchLease&) = delete;
  ScratchLease& operator=(const ScratchLease&) = delete;

  // Null when the system has no memory. Uninitialised, 64-byte aligned, with 64 readable bytes
  // after the end.
  std::uint8_t* data() const noexcept { return data_; }
  explicit operator bool() const noexcept { return data_ != nullptr; }

 private:
  std::uint8_t* data_;
  ScratchUse use_;
};

}  // namespace penstock::media
