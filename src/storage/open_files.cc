#include "storage/open_files.h"

#include <sys/resource.h>

#include <algorithm>

#include "storage/file.h"
#include "storage/http.h"

namespace penstock::storage {
namespace {

std::size_t default_limit() noexcept {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 1024;
  return std::clamp<std::size_t>(std::size_t(limit.rlim_cur) / 4, 8, 4096);
}

}  // namespace

OpenFiles::OpenFiles(std::vector<std::string> names, std::vector<Stamp> stamps, std::size_t limit)
    : names_(std::move(names)),
      stamps_(std::move(stamps)),
      limit_(limit == 0 ? default_limit() : limit),
      connections_(keep_connections(names_)),
      slots_(std::make_unique<Slot[]>(names_.size())) {}

Result<std::shared_ptr<const Source>> OpenFiles::open(std::size_t i) const {
  Slot& slot = slots_[i];
  std::shared_ptr<const Source> file;
  {
    const std::lock_guard lock(slot.mutex);
    slot.used_lately = true;
    if (slot.file) return slot.file;
    Result<std::shared_ptr<const Source>> opened = open_known_source(names_[i], stamps_[i]);
    if (!opened) return opened;
    if (const int pattern = pattern_.load(std::memory_order_relaxed); pattern >= 0) {
      (*opened)->advise(Pattern(pattern));
    }
    slot.file = file = *std::move(opened);
  }
  if (open_.fetch_add(1, std::memory_order_relaxed) + 1 > limit_) close_one(i);
  return file;
}

Status OpenFiles::still_whole(std::size_t i, bool there) const {
  const Result<std::shared_ptr<const Source>> file = open(i);
  // Removed or replaced, and closed meanwhile: then its name is all there is to ask.
  if (!file) return storage::still_whole(names_[i], stamps_[i].size, there);
  if (Status status = (*file)->still_has(stamps_[i].size); !status) return status;
  return there ? Status() : Status(became_shorter(names_[i]));
}

void OpenFiles::close_one(std::size_t except) const noexcept {
  // Twice round at most: the first time takes the marks away.
  for (std::size_t step = 0; step < 2 * names_.size(); ++step) {
    const std::size_t i = hand_.fetch_add(1, std::memory_order_relaxed) % names_.size();
    if (i == except) continue;
    Slot& slot = slots_[i];
    std::shared_ptr<const Source> closing;  // the file is closed outside the lock
    const std::unique_lock lock(slot.mutex, std::try_to_lock);
    if (!lock || !slot.file) continue;
    if (slot.used_lately) {
      slot.used_lately = false;
      continue;
    }
    closing.swap(slot.file);
    open_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
}

void OpenFiles::advise(Pattern pattern) const noexcept {
  if (pattern_.exchange(int(pattern), std::memory_order_relaxed) == int(pattern)) return;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::lock_guard lock(slots_[i].mutex);
    if (slots_[i].file) slots_[i].file->advise(pattern);
  }
}

}  // namespace penstock::storage
