// The memory a pool keeps for reuse: lists by size class, and how much may stay in them.
//
// What is kept never exceeds the budget (with its share of rounding); a pool without a budget keeps
// at most twice what was once live at the same time, or 64 MB. Before new memory is taken, cached
// blocks are given up until it fits in the budget beside what is charged. Those unused for longest
// go first. Memory in the user's hands does not count, so that batches which come back from the
// user are reused and not returned to the system.
#include <algorithm>

#include "core/poison.h"
#include "core/pool_state.h"

namespace penstock::detail {

void free_blocks(MemorySource& source, PooledBlock* list) noexcept {
  while (list != nullptr) {
    PooledBlock* next = list->next;
    unpoison(list->data, list->capacity());
    source.free(list->data, list->capacity());
    delete list;
    list = next;
  }
}

// The newest is the one most likely still in a CPU's cache. Of the newest few one that this core
// has written is better: what lies in another core's cache has to be fetched from there.
PooledBlock* PoolState::take_cached(std::size_t size_class, int core) noexcept {
  constexpr int kFew = 4;
  PooledBlock* block = classes_[size_class].newest;
  PooledBlock* other = block;
  for (int i = 0; i < kFew && other != nullptr; ++i, other = other->in_class.older) {
    if (other->core != core) continue;
    block = other;
    break;
  }
  if (block != nullptr) uncache(block);
  return block;
}

void PoolState::uncache(PooledBlock* block) noexcept {
  classes_[block->size_class].take(block);
  cache_.take(block);
  stats_.cached -= block->capacity();
}

PooledBlock* PoolState::cache(PooledBlock* block) noexcept {
  classes_[block->size_class].put(block);
  cache_.put(block);
  stats_.cached += block->capacity();
  return evict_down_to(cache_limit());
}

std::size_t PoolState::cache_limit() const noexcept {
  if (closed_) return 0;
  if (keep_at_most_ != BufferPool::unlimited) return keep_at_most_;
  return std::max(2 * peak_live_, std::size_t{64} << 20);
}

PooledBlock* PoolState::evict_down_to(std::size_t limit) noexcept {
  PooledBlock* evicted = nullptr;
  while (stats_.cached > limit) {
    PooledBlock* block = cache_.oldest;
    uncache(block);
    stats_.footprint -= block->capacity();
    block->next = evicted;
    evicted = block;
  }
  return evicted;
}

void PoolState::trim() noexcept {
  Lock lock(mutex_);
  PooledBlock* evicted = evict_down_to(0);
  lock.unlock();
  free_blocks(*source_, evicted);
}

}  // namespace penstock::detail
