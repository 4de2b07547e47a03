// ReadAhead: says which bytes of local files will be read soon, so that the disk is at work while
// what came before is unpacked.
//
//   if (ahead.begin()) { ahead.add(...); ...; ahead.end(); }
//
// Saying so costs a system call for each range, in vain where all is in memory already. So when
// nothing had to come from a disk, the next times are left out: one, then three, seven, up to 63.
//
// Thread safety: for one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "storage/ranges.h"
#include "storage/source.h"

namespace penstock::storage {

class ReadAhead {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t(32) << 20;  // of a time

  // False: this time is left out.
  bool begin() noexcept;
  // These bytes will be read. More than kMostBytes are not asked for: they are read when their time
  // comes.
  void add(std::shared_ptr<const Source> source, Range range);
  bool full() const noexcept { return bytes_ >= kMostBytes; }
  std::uint64_t told() const noexcept { return bytes_; }  // bytes, since begin()
  void end();

 private:
  static constexpr unsigned kMostLeftOut = 63;
  static constexpr std::size_t kMostWanted = 128;  // at a time: each may be an open file

  struct Wanted {
    std::shared_ptr<const Source> source;
    Range range;
  };
  void ask();

  std::vector<Wanted> wanted_;
  std::vector<Range> ranges_;
  std::vector<MergedRange> merged_;
  std::uint64_t bytes_ = 0;
  unsigned left_out_ = 0;  // of times that are left out, those to come
  unsigned pause_ = 0;     // how many were to be left out the last time
  bool from_disk_ = false;
};

}  // namespace penstock::storage
