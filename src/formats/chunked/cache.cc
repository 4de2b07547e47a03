#include "formats/chunked/cache.h"

#include "storage/wait.h"

namespace penstock::formats::chunked {
namespace {

constexpr std::uint64_t kPerChunk = 256;  // to find it

std::uint64_t cost(const Chunk& chunk) noexcept {
  return chunk.size() + kPerChunk;
}

}  // namespace

ChunkCache::ChunkCache(std::uint64_t budget, std::vector<std::uint64_t> counts, Load load)
    : counts_(std::move(counts)), load_(std::move(load)), walks_(counts_.size()), budget_(budget) {}

Result<Chunk> ChunkCache::get(std::size_t array, std::uint64_t chunk) const {
  const Key key{array, chunk};
  std::unique_lock hold(mutex_);
  for (bool helped = false;; helped = true) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return load(key, hold);
    const std::shared_ptr<Entry> entry = found->second;
    if (entry->outcome) {
      used_last_.splice(used_last_.end(), used_last_, entry->place);
      return *entry->outcome;
    }
    // Somebody else is at it.
    const Key next{array, walks_[array].newest + 1};
    if (!helped && walks_[array].forward && next.chunk < counts_[array] &&
        !entries_.contains(next)) {
      (void)load(next, hold);  // a failure is told to those who ask for that chunk
      continue;
    }
    const auto there = [&] { return entry->outcome.has_value(); };
    if (!storage::wait_or_stop(loaded_one_, hold, there)) {
      return Error(Code::closed, "reading was stopped");
    }
    // Who was at it was stopped, which is nothing to those who were not.
    if (!*entry->outcome && entry->outcome->error().code() == Code::closed) continue;
    return *entry->outcome;
  }
}

bool ChunkCache::contains(std::size_t array, std::uint64_t chunk) const {
  const std::lock_guard hold(mutex_);
  return entries_.contains({array, chunk});
}

Result<Chunk> ChunkCache::load(const Key& key, std::unique_lock<std::mutex>& hold) const {
  Walk& walk = walks_[key.array];
  walk.forward = key.chunk == walk.newest + 1 || key.chunk == 0;  // an epoch begins
  walk.run = walk.forward ? walk.run + 1 : 0;
  walk.newest = key.chunk;
  const auto entry = std::make_shared<Entry>();
  entries_.emplace(key, entry);
  ++count_;
  hold.unlock();
  Result<Chunk> outcome = load_(key.array, key.chunk);
  hold.lock();
  entry->outcome = outcome;
  if (outcome) {
    evict(cost(*outcome));
    used_ += cost(*outcome);
    entry->place = used_last_.insert(used_last_.end(), key);
  } else {
    entries_.erase(key);  // who waits has the entry; who comes later tries again
  }
  loaded_one_.notify_all();
  return outcome;
}

void ChunkCache::evict(std::uint64_t room) const {
  while (!used_last_.empty() && (room > budget_ || used_ > budget_ - room)) {
    const auto oldest = entries_.find(used_last_.front());
    used_ -= cost(**oldest->second->outcome);
    entries_.erase(oldest);
    used_last_.pop_front();
  }
}

void ChunkCache::set_budget(std::uint64_t budget) const {
  const std::lock_guard hold(mutex_);
  budget_ = budget;
  evict(0);
}

std::uint64_t ChunkCache::budget() const {
  const std::lock_guard hold(mutex_);
  return budget_;
}

std::uint64_t ChunkCache::used() const {
  const std::lock_guard hold(mutex_);
  return used_;
}

std::uint64_t ChunkCache::run(std::size_t array) const {
  const std::lock_guard hold(mutex_);
  return walks_[array].run;
}

std::uint64_t ChunkCache::loaded() const {
  const std::lock_guard hold(mutex_);
  return count_;
}

}  // namespace penstock::formats::chunked
