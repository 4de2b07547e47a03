// HeaderWalks: looks at the headers of a large tar before the scanner does, many at a time.
//
// A header says where the next one is. So whoever scans a tar that the system does not hold in
// memory waits for one small read after the other, and the disk has little to do. When that is seen
// to happen, threads begin at places further on: each looks for a header there, and goes on from
// one to the next. Nothing that they find is used; they only have the system read it, so that the
// scanner does not wait. A wrong guess (a tar inside a tar) costs reads, nothing else.
//
// Thread safety: for one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "storage/source.h"
#include "storage/stream.h"

namespace penstock::formats::tar {

class HeaderWalks {
 public:
  // `walks`: so many threads at most. Streams that are no local files are left alone.
  HeaderWalks(const storage::Stream& stream, std::size_t walks);
  ~HeaderWalks() { end(); }

  // The scanner has seen another member, and looks at `position` next.
  void passed(std::uint64_t position) {
    if (++seen_ % kLook == 0) [[unlikely]]
      look(position);
  }
  // The same, once it is known that headers are waited for, so far apart from one another.
  void begin(std::uint64_t position, std::uint64_t apart);
  std::size_t begun() const noexcept { return begun_; }  // walks, so far

 private:
  static constexpr std::uint64_t kLook = 64;  // members

  void look(std::uint64_t position);
  void end();

  std::string name_;
  std::uint64_t size_ = 0;
  std::size_t walks_;
  std::uint64_t seen_ = 0, last_ = 0;  // members; where it was when it last looked
  long blocks_ = 0;                    // and what had been read from disks by then
  std::uint64_t until_ = 0;            // walks lead up to here
  std::size_t begun_ = 0;
  std::atomic<bool> ended_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace penstock::formats::tar
