// OpenFiles: any number of files of which only so many are open at a time.
//
// A dataset may have more shards than a process may have open files. Files are opened when first
// used; when too many are, one that was not used lately is closed. A file that was replaced or
// changed in between is noticed when it is opened again.
//
// Thread safety: every member may be called from any thread at any time.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "storage/source.h"

namespace penstock::storage {

class OpenFiles {
 public:
  // `limit` 0: a quarter of what the process may open.
  OpenFiles(std::vector<std::string> names, std::vector<Stamp> stamps, std::size_t limit = 0);

  std::size_t size() const noexcept { return names_.size(); }
  const std::string& name(std::size_t i) const noexcept { return names_[i]; }
  const Stamp& stamp(std::size_t i) const noexcept { return stamps_[i]; }

  // File i, open for as long as the pointer is held.
  Result<std::shared_ptr<const Source>> open(std::size_t i) const;

  // Of a file that is mapped, after it was looked at: an Error if it has become shorter (behind the
  // new end, inside the last page, there are zeros), or if not all of it was `there` (see
  // fault_guard.h). One that was removed or replaced stays mapped.
  Status still_whole(std::size_t i, bool there = true) const;

  // For the files that are open and for those that will be.
  void advise(Pattern pattern) const noexcept;

  std::size_t open_now() const noexcept { return open_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const Source> file;
    bool used_lately = false;
  };
  void close_one(std::size_t except) const noexcept;

  std::vector<std::string> names_;
  std::vector<Stamp> stamps_;
  std::size_t limit_;
  std::shared_ptr<const void> connections_;
  std::unique_ptr<Slot[]> slots_;
  mutable std::atomic<std::size_t> open_ = 0;
  mutable std::atomic<std::size_t> hand_ =
      0;  // goes round; a slot not used since the last time goes
  mutable std::atomic<int> pattern_ = -1;
};

}  // namespace penstock::storage
