// What a BufferPool, its Buffers, its Reservations and its listeners share. Private to core.
//
// One mutex guards all of it. Memory is taken and freed, and callbacks are called, outside it. The
// state is counted by its users and deletes itself with the last one.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/mutex.h"
#include "core/size_class.h"
#include "penstock/buffer.h"

namespace penstock::detail {

struct PooledBlock;

// Neighbours in a list of blocks ordered by when they were put in.
struct Neighbours {
  PooledBlock* newer = nullptr;
  PooledBlock* older = nullptr;
};

struct PooledBlock : Block {
  PoolState* pool = nullptr;
  PoolAccount* account = nullptr;  // the reservation it was allocated from
  PooledBlock* next = nullptr;     // in a list of blocks to be freed
  Neighbours in_class;             // while cached: blocks of the same size class
  Neighbours in_cache;             // while cached: all blocks
  std::size_t size_class = 0;
  int core = -1;  // that took it last, to write into it
  bool held_by_user = false;

  std::size_t capacity() const noexcept { return size_of_class(size_class); }
};

// A list threaded through blocks: the newest comes first, any one can be taken out.
template <Neighbours PooledBlock::*links>
struct BlockList {
  PooledBlock* newest = nullptr;
  PooledBlock* oldest = nullptr;

  void put(PooledBlock* block) noexcept {
    (block->*links) = {nullptr, newest};
    (newest != nullptr ? (newest->*links).newer : oldest) = block;
    newest = block;
  }
  void take(PooledBlock* block) noexcept {
    const auto [newer, older] = block->*links;
    (newer != nullptr ? (newer->*links).older : newest) = older;
    (older != nullptr ? (older->*links).newer : oldest) = newer;
  }
};

// The bytes of one Reservation.
struct PoolAccount {
  PoolState* pool = nullptr;
  std::size_t left = 0;
  std::size_t users = 1;  // the Reservation and the live Buffers made from it
  bool open = true;       // the Reservation still lives
};

struct Listener {
  Listener(PoolState* pool, std::function<void()> callback)
      : pool(pool), callback(std::move(callback)) {}
  void call() noexcept;
  void close() noexcept;  // no more calls; returns when no other thread is inside the callback

  PoolState* const pool;
  const std::function<void()> callback;

 private:
  // 2 for each call that is under way, plus 1 once closed: both are seen in one atomic step.
  std::atomic<std::uint32_t> state_{0};
};

struct PoolState {
  PoolState(std::size_t budget, std::shared_ptr<MemorySource> source);

  Result<Buffer> allocate(std::size_t size, PoolAccount* account);
  void take_back(PooledBlock* block) noexcept;
  void give_to_user(std::span<const Buffer> buffers) noexcept;  // all of this pool

  PoolAccount* try_reserve(std::size_t bytes);
  void close(PoolAccount* account) noexcept;
  std::size_t left(const PoolAccount* account) const noexcept;

  void add(const std::shared_ptr<Listener>& listener);
  void remove(const Listener* listener);

  PoolStats stats() const;
  void trim() noexcept;
  void close_pool() noexcept;  // the BufferPool is gone

 private:
  using Lock = std::unique_lock<Mutex>;
  using Listeners = std::vector<std::shared_ptr<Listener>>;

  ~PoolState() = default;  // only leave() ends a state

  bool fits(std::size_t bytes) const noexcept;
  Error refusal(std::size_t size) const;
  PooledBlock* take_memory(Lock& lock, std::size_t size_class) noexcept;
  void note_live() noexcept;
  void discharge(PooledBlock* block, bool& room) noexcept;
  void leave_account(PooledBlock* block) noexcept;

  PooledBlock* take_cached(std::size_t size_class, int core) noexcept;
  void uncache(PooledBlock* block) noexcept;
  // Both answer the list of blocks that had to go; their memory is to be freed without the lock.
  PooledBlock* cache(PooledBlock* block) noexcept;
  PooledBlock* evict_down_to(std::size_t limit) noexcept;
  std::size_t cache_limit() const noexcept;

  // The end of every operation that lets go of something: unlocks, frees memory, calls listeners,
  // and deletes the state if the users that just left were the last.
  void leave(Lock lock, std::size_t users, PooledBlock* to_free, bool room) noexcept;

  mutable Mutex mutex_;
  const std::shared_ptr<MemorySource> source_;
  const std::size_t keep_at_most_;  // the budget with its share of rounding
  PoolStats stats_;
  std::size_t charged_capacity_ = 0;  // what in_use counts, rounded to size classes
  std::size_t peak_live_ = 0;         // the most that footprint - cached has ever been
  std::size_t users_ = 1;             // the BufferPool, live blocks, accounts and listeners
  bool closed_ = false;
  std::shared_ptr<const Listeners> listeners_;  // copied on change; null when there are none
  BlockList<&PooledBlock::in_cache> cache_;
  std::array<BlockList<&PooledBlock::in_class>, kSizeClasses> classes_;
};

// Gives a list of blocks, and their memory, back for good.
void free_blocks(MemorySource& source, PooledBlock* list) noexcept;

}  // namespace penstock::detail
