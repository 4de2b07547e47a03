// RecordLayout: how the parts of a record lie in memory after it was read.
//
// Parts that are near one another in the file are read together, with what lies between them; a
// part that is far from the one before begins a new read.
#pragma once

#include <cstdint>

namespace penstock::formats {

class RecordLayout {
 public:
  static constexpr std::uint64_t largest_gap = std::uint64_t(16) << 10;
  static constexpr std::uint64_t alignment = 64;

  // Parts come in the order of the file. False if this one lies before the end of the last.
  bool add(std::uint64_t offset, std::uint64_t size) noexcept {
    new_read_ = first_ || offset - end_ > largest_gap;
    if (!first_ && offset < end_) return false;
    if (new_read_) {
      place_ = (total_ + alignment - 1) / alignment * alignment;
    } else {
      place_ = total_ + (offset - end_);
    }
    first_ = false;
    end_ = offset + size;
    total_ = place_ + size;
    return true;
  }

  bool new_read() const noexcept { return new_read_; }     // the part added last begins one
  std::uint64_t place() const noexcept { return place_; }  // of the part added last, in memory
  std::uint64_t total() const noexcept { return total_; }  // bytes of memory so far

 private:
  bool first_ = true;
  bool new_read_ = false;
  std::uint64_t end_ = 0, place_ = 0, total_ = 0;
};

}  // namespace penstock::formats
