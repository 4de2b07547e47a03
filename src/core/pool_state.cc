// The accounts of the pool: what is charged to the budget, by whom, and who is told of room.
#include "core/pool_state.h"

#include <sched.h>

#include <algorithm>
#include <new>
#include <string>

#include "core/poison.h"

namespace penstock::detail {

PoolState::PoolState(std::size_t budget, std::shared_ptr<MemorySource> source)
    : source_(std::move(source)),
      keep_at_most_(budget > BufferPool::unlimited / 2 ? BufferPool::unlimited
                                                       : budget + budget / 8) {
  stats_.budget = budget;
}

bool PoolState::fits(std::size_t bytes) const noexcept {
  const std::size_t charged = stats_.in_use + stats_.reserved;
  return charged <= stats_.budget && bytes <= stats_.budget - charged;
}

Error PoolState::refusal(std::size_t size) const {
  return Error(Code::out_of_memory, "a buffer of " + std::to_string(size) +
                                        " bytes does not fit in the pool's budget of " +
                                        std::to_string(stats_.budget) + " bytes (in use " +
                                        std::to_string(stats_.in_use) + ", reserved " +
                                        std::to_string(stats_.reserved) + ")");
}

Result<Buffer> PoolState::allocate(std::size_t size, PoolAccount* account) {
  const int core = ::sched_getcpu();
  Lock lock(mutex_);
  if (size > kLargestBlock) {
    return Error(Code::out_of_memory, "a buffer of " + std::to_string(size) + " bytes");
  }
  if (account != nullptr) {
    if (size > account->left) {
      return Error(Code::out_of_memory,
                   "a buffer of " + std::to_string(size) + " bytes is more than the " +
                       std::to_string(account->left) + " bytes left of its reservation");
    }
    account->left -= size;
    account->users += 1;
    stats_.reserved -= size;
  } else {
    if (!fits(size)) return refusal(size);
    stats_.peak = std::max(stats_.peak, stats_.in_use + stats_.reserved + size);
  }
  const std::size_t size_class = size_class_of(size);
  stats_.in_use += size;
  charged_capacity_ += size_of_class(size_class);
  users_ += 1;

  PooledBlock* block = take_cached(size_class, core);
  if (block != nullptr) {
    stats_.recycled += 1;
    note_live();
    lock.unlock();
  } else {
    block = take_memory(lock, size_class);
  }
  if (block == nullptr) {
    PooledBlock undone;
    undone.account = account;
    undone.size = size;
    undone.size_class = size_class;
    lock.lock();
    bool room = false;
    discharge(&undone, room);
    leave(std::move(lock), 1, nullptr, room);
    return Error(Code::out_of_memory,
                 "the system has no " + std::to_string(size) + " bytes for a buffer");
  }
  block->account = account;
  block->size = size;
  block->core = core;
  block->held_by_user = false;
  block->references.store(1, std::memory_order_relaxed);
  unpoison(block->data, size);
  return Buffer(block);
}

void PoolState::note_live() noexcept {
  peak_live_ = std::max(peak_live_, stats_.footprint - stats_.cached);
}

// Goes to the memory source, without the lock. Answers null if it has none even when all cached
// memory has been given back to it.
PooledBlock* PoolState::take_memory(Lock& lock, std::size_t size_class) noexcept {
  const std::size_t capacity = size_of_class(size_class);
  // What is charged counts the new block already.
  PooledBlock* evicted = evict_down_to(keep_at_most_ - std::min(keep_at_most_, charged_capacity_));
  stats_.fresh += 1;
  stats_.footprint += capacity;
  note_live();
  lock.unlock();
  free_blocks(*source_, evicted);

  void* memory = source_->allocate(capacity);
  if (memory == nullptr) {
    trim();
    memory = source_->allocate(capacity);
  }
  PooledBlock* block = memory == nullptr ? nullptr : new (std::nothrow) PooledBlock;
  if (block == nullptr) {
    if (memory != nullptr) source_->free(memory, capacity);
    lock.lock();
    stats_.fresh -= 1;
    stats_.footprint -= capacity;
    lock.unlock();
    return nullptr;
  }
  block->pooled = true;
  block->pool = this;
  block->size_class = size_class;
  block->data = static_cast<std::byte*>(memory);
  poison(block->data, capacity);
  return block;
}

// A block leaves the books it is in. `room` becomes true if bytes came back to the budget.
void PoolState::discharge(PooledBlock* block, bool& room) noexcept {
  if (block->held_by_user) {
    stats_.held_by_user -= block->size;
    return;
  }
  stats_.in_use -= block->size;
  charged_capacity_ -= block->capacity();
  if (block->account != nullptr && block->account->open) {
    block->account->left += block->size;
    stats_.reserved += block->size;
  } else {
    room = block->size > 0;
  }
  leave_account(block);
}

void PoolState::leave_account(PooledBlock* block) noexcept {
  PoolAccount* account = std::exchange(block->account, nullptr);
  if (account != nullptr && --account->users == 0) delete account;
}

void PoolState::take_back(PooledBlock* block) noexcept {
  poison(block->data, block->capacity());
  Lock lock(mutex_);
  bool room = false;
  discharge(block, room);
  PooledBlock* to_free = cache(block);
  leave(std::move(lock), 1, to_free, room);
}

void PoolState::give_to_user(std::span<const Buffer> buffers) noexcept {
  Lock lock(mutex_);
  bool room = false;
  for (const Buffer& buffer : buffers) {
    auto* block = static_cast<PooledBlock*>(buffer.block_);
    if (block->held_by_user) continue;
    block->held_by_user = true;
    stats_.in_use -= block->size;
    charged_capacity_ -= block->capacity();
    stats_.held_by_user += block->size;
    leave_account(block);
    room = room || block->size > 0;
  }
  leave(std::move(lock), 0, nullptr, room);
}

PoolAccount* PoolState::try_reserve(std::size_t bytes) {
  std::unique_ptr<PoolAccount> account(new (std::nothrow) PoolAccount);
  if (account == nullptr) return nullptr;
  account->pool = this;
  account->left = bytes;

  const Lock lock(mutex_);
  if (!fits(bytes)) {
    const bool alone = stats_.in_use == 0 && stats_.reserved == 0;
    if (!alone) return nullptr;
    stats_.over_budget += 1;
  }
  stats_.reserved += bytes;
  stats_.peak = std::max(stats_.peak, stats_.in_use + stats_.reserved);
  users_ += 1;
  return account.release();
}

void PoolState::close(PoolAccount* account) noexcept {
  Lock lock(mutex_);
  const bool room = account->left > 0;
  stats_.reserved -= account->left;
  account->left = 0;
  account->open = false;
  if (--account->users == 0) delete account;
  leave(std::move(lock), 1, nullptr, room);
}

std::size_t PoolState::left(const PoolAccount* account) const noexcept {
  const Lock lock(mutex_);
  return account->left;
}

void PoolState::add(const std::shared_ptr<Listener>& listener) {
  const Lock lock(mutex_);
  auto changed =
      listeners_ ? std::make_shared<Listeners>(*listeners_) : std::make_shared<Listeners>();
  changed->push_back(listener);
  listeners_ = std::move(changed);
  users_ += 1;
}

void PoolState::remove(const Listener* listener) {
  Lock lock(mutex_);
  auto changed = std::make_shared<Listeners>(*listeners_);
  std::erase_if(*changed, [&](const auto& each) { return each.get() == listener; });
  std::shared_ptr<const Listeners> old = std::move(listeners_);  // outlives the lock
  if (!changed->empty()) listeners_ = std::move(changed);
  leave(std::move(lock), 1, nullptr, false);
}

PoolStats PoolState::stats() const {
  const Lock lock(mutex_);
  return stats_;
}

void PoolState::close_pool() noexcept {
  Lock lock(mutex_);
  closed_ = true;
  PooledBlock* to_free = evict_down_to(0);
  leave(std::move(lock), 1, to_free, false);
}

void PoolState::leave(Lock lock, std::size_t users, PooledBlock* to_free, bool room) noexcept {
  users_ -= users;
  const bool last = users_ == 0;
  std::shared_ptr<MemorySource> source;
  if (to_free != nullptr) source = source_;
  std::shared_ptr<const Listeners> listeners;
  if (room) listeners = listeners_;
  lock.unlock();
  // From here on another thread may end the state, unless this was the last user.
  if (to_free != nullptr) free_blocks(*source, to_free);
  if (listeners != nullptr) {
    for (const auto& listener : *listeners) listener->call();
  }
  if (last) delete this;
}

}  // namespace penstock::detail
