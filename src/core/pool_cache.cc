// The memory a pool keeps for reuse: free lists by size class, and how much may stay in them.
//
// What is kept never exceeds the budget (with its share of rounding) nor what was once live at the
// same time. Before new memory is taken, cached blocks are given up until it fits in the budget
// beside what is charged; memory in the user's hands does not count, so that batches which come
// back from the user are reused and not returned to the system.
#include <algorithm>
#include <bit>

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

PooledBlock* PoolState::pop(std::size_t size_class) noexcept {
  PooledBlock* block = free_[size_class];
  if (block == nullptr) return nullptr;
  free_[size_class] = block->next;
  if (block->next == nullptr) occupied_[size_class / 64] &= ~(std::uint64_t{1} << size_class % 64);
  block->next = nullptr;
  stats_.cached -= block->capacity();
  return block;
}

bool PoolState::keep(PooledBlock* block) noexcept {
  const std::size_t capacity = block->capacity();
  if (closed_ || capacity + stats_.cached > std::min(keep_at_most_, peak_live_)) {
    stats_.footprint -= capacity;
    return false;
  }
  stats_.cached += capacity;
  block->next = free_[block->size_class];
  free_[block->size_class] = block;
  occupied_[block->size_class / 64] |= std::uint64_t{1} << block->size_class % 64;
  return true;
}

// The smallest cached block that makes enough room on its own, else the largest.
std::size_t PoolState::class_to_evict(std::size_t size_class) const noexcept {
  std::size_t word = size_class / 64;
  std::uint64_t bits = occupied_[word] & (~std::uint64_t{0} << size_class % 64);
  while (bits == 0 && ++word < occupied_.size()) bits = occupied_[word];
  if (bits != 0) return word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
  for (word = size_class / 64 + 1; word-- > 0;) {
    if (occupied_[word] != 0) {
      return word * 64 + 63 - static_cast<std::size_t>(std::countl_zero(occupied_[word]));
    }
  }
  return kSizeClasses;
}

// Takes cached blocks out until a new one of this class fits in the budget beside what is charged
// (which counts the new one already).
PooledBlock* PoolState::evict_for(std::size_t size_class) noexcept {
  PooledBlock* evicted = nullptr;
  while (stats_.cached > 0 && charged_capacity_ + stats_.cached > keep_at_most_) {
    PooledBlock* block = pop(class_to_evict(size_class));
    stats_.footprint -= block->capacity();
    block->next = evicted;
    evicted = block;
  }
  return evicted;
}

PooledBlock* PoolState::evict_all() noexcept {
  PooledBlock* evicted = nullptr;
  while (stats_.cached > 0) {
    PooledBlock* block = pop(class_to_evict(0));
    stats_.footprint -= block->capacity();
    block->next = evicted;
    evicted = block;
  }
  return evicted;
}

void PoolState::trim() noexcept {
  Lock lock(mutex_);
  PooledBlock* evicted = evict_all();
  lock.unlock();
  free_blocks(*source_, evicted);
}

}  // namespace penstock::detail
