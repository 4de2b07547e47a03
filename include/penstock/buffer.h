// Buffer and BufferPool: where the bytes of samples and batches live.
//
// A Buffer is a handle to 64-byte aligned memory, shared by reference count: copying the handle
// shares the memory, and the memory goes back where it came from when the last handle is gone.
// A BufferPool recycles memory and keeps what is in use under a byte budget. It never blocks: over
// budget means an Error (allocate) or no value (try_reserve), and on_room says when to try again.
//
// The budget counts the bytes asked for. Rounding to size classes adds at most an eighth (or 63
// bytes); `footprint` in the statistics shows what was really taken from the system.
//
// Thread safety: every function of BufferPool and of Reservation may be called from any thread
// (moving or destroying an object while another thread uses it is the usual exception). A Buffer
// handle is a value, as shared_ptr is: distinct handles may be used from distinct threads.
// Lifetime: Buffers, Reservations and RoomListeners may outlive their BufferPool.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "penstock/error.h"

namespace penstock {

inline constexpr std::size_t kBufferAlignment = 64;

// Where a pool takes memory from: host memory by default, pinned memory later. Implementations are
// called from any thread, outside the pool's lock.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // `size` is a positive multiple of kBufferAlignment. Answers nullptr when there is none.
  virtual void* allocate(std::size_t size) noexcept = 0;
  virtual void free(void* memory, std::size_t size) noexcept = 0;
};

// Aligned host memory; blocks of several MB are laid out for huge pages.
std::shared_ptr<MemorySource> host_memory();

namespace detail {
struct PoolState;
struct PoolAccount;
struct Listener;

// What a Buffer points to. One per live allocation; a pool recycles it together with its memory.
struct Block {
  std::atomic<std::uint32_t> references{1};
  bool pooled = false;
  bool read_only = false;
  std::byte* data = nullptr;
  std::size_t size = 0;
};

void release(Block* block) noexcept;  // the last reference is gone
}  // namespace detail

class Buffer {
 public:
  Buffer() noexcept = default;  // holds nothing: data() is null, size() is 0

  // Fresh host memory that belongs to no pool and counts in no budget.
  static Result<Buffer> allocate(std::size_t size);
  // Memory owned by others. `release` is called once, from whichever thread drops the last handle.
  static Buffer wrap(void* data, std::size_t size, std::function<void()> release);
  static Buffer wrap_read_only(const void* data, std::size_t size, std::function<void()> release);

  Buffer(const Buffer& other) noexcept : block_(other.block_) {
    if (block_) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Buffer(Buffer&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Buffer() { drop(); }

  explicit operator bool() const noexcept { return block_ != nullptr; }
  // Writing is for whoever knows that nobody else reads, and never when read_only().
  std::byte* data() const noexcept { return block_ ? block_->data : nullptr; }
  std::size_t size() const noexcept { return block_ ? block_->size : 0; }
  std::span<std::byte> bytes() const noexcept { return {data(), size()}; }
  bool read_only() const noexcept { return block_ && block_->read_only; }
  // True if no other handle shares the memory.
  bool unique() const noexcept {
    return block_ && block_->references.load(std::memory_order_acquire) == 1;
  }

  // The memory is now in the user's hands: its bytes leave the pool's budget and count as
  // held_by_user until the last handle is gone. Concerns every handle to this memory; a second
  // call, or a call on memory that belongs to no pool, changes nothing.
  void give_to_user() const noexcept;
  // The same for many at once: whoever waits for room hears of it once.
  static void give_to_user(std::span<const Buffer> buffers) noexcept;

 private:
  friend struct detail::PoolState;
  explicit Buffer(detail::Block* block) noexcept : block_(block) {}

  void drop() noexcept {
    if (!block_) return;
    // The only handle needs no atomic subtraction: nobody is left to copy from.
    if (block_->references.load(std::memory_order_acquire) == 1 ||
        block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      detail::release(block_);
    }
  }

  detail::Block* block_ = nullptr;
};

// Bytes of a pool set aside before they are needed. Buffers allocated from it are never refused for
// want of budget while they fit in what is left, so work admitted once cannot starve half-way.
// A Buffer that is freed while its reservation lives gives its bytes back to the reservation
// (scratch for row after row needs to be reserved once), later to the budget.
class Reservation {
 public:
  Reservation(Reservation&& other) noexcept : account_(std::exchange(other.account_, nullptr)) {}
  Reservation& operator=(Reservation&& other) noexcept {
    release();
    account_ = std::exchange(other.account_, nullptr);
    return *this;
  }
  ~Reservation() { release(); }

  // Fails with out_of_memory if `size` is more than left(), or if the system has no memory.
  Result<Buffer> allocate(std::size_t size);
  std::size_t left() const noexcept;  // bytes not spent on live Buffers
  // Returns what is left to the budget; Buffers made before keep theirs until they are freed.
  // After that the reservation holds nothing. The destructor does the same.
  void release() noexcept;

 private:
  friend class BufferPool;
  explicit Reservation(detail::PoolAccount* account) noexcept : account_(account) {}
  detail::PoolAccount* account_;
};

// Keeps a callback registered with BufferPool::on_room. Once the destructor has returned the
// callback is not running and will not be called again (a callback may destroy its own listener).
// So do not destroy it under a lock that the callback takes.
class [[nodiscard]] RoomListener {
 public:
  RoomListener() noexcept = default;
  RoomListener(RoomListener&& other) noexcept;
  RoomListener& operator=(RoomListener&& other) noexcept;
  ~RoomListener();

 private:
  friend class BufferPool;
  explicit RoomListener(std::shared_ptr<detail::Listener> listener) noexcept;
  std::shared_ptr<detail::Listener> listener_;
};

struct PoolStats {
  std::size_t budget = 0;         // bytes; BufferPool::unlimited if there is none
  std::size_t in_use = 0;         // bytes of live Buffers that are charged to the budget
  std::size_t reserved = 0;       // bytes of live Reservations not yet spent on Buffers
  std::size_t peak = 0;           // the most that in_use + reserved has ever been
  std::size_t held_by_user = 0;   // bytes of Buffers given to the user
  std::size_t cached = 0;         // bytes kept for reuse
  std::size_t footprint = 0;      // bytes taken from the memory source now: live and cached
  std::uint64_t recycled = 0;     // allocations served from cached memory
  std::uint64_t fresh = 0;        // allocations that went to the memory source
  std::uint64_t over_budget = 0;  // reservations granted above the budget because they were alone
};

class BufferPool {
 public:
  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

  explicit BufferPool(std::size_t budget = unlimited,
                      std::shared_ptr<MemorySource> source = host_memory());
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool();  // frees cached memory; live Buffers free theirs when they go

  // Fails with out_of_memory when in_use + reserved + size would pass the budget.
  Result<Buffer> allocate(std::size_t size);

  // Granted if it fits in the budget, or if nothing else is in use or reserved apart from what the
  // user holds: work that is alone is always admitted, and counted in over_budget if it is larger
  // than the budget.
  std::optional<Reservation> try_reserve(std::size_t bytes);

  // `callback` is called whenever bytes come back to the budget, from the thread that gave them
  // back and outside the pool's lock. It should be short (wake somebody); it may use the pool.
  RoomListener on_room(std::function<void()> callback);

  PoolStats stats() const;
  void trim() noexcept;  // gives cached memory back to the memory source

 private:
  detail::PoolState* state_;
};

}  // namespace penstock
