// The bounded queue between two stages. It has any number of producers (several of them make a
// merge) and one reader. All members are used under the engine's lock.
//
// Besides items a queue carries marks: the end of an epoch and the end of all. A mark enters once
// every producer has delivered its own; a producer that is early waits at this barrier, so that
// no item of the next epoch overtakes.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>
#include <vector>

#include "penstock/error.h"
#include "penstock/item.h"

namespace penstock::engine {

struct Stage;

enum class Mark : std::uint8_t { epoch_end, end };

// Travels in an item's place under OnFailure::deliver.
struct Failure {
  Error error;
  bool fatal = false;   // ends the pipeline whatever the policy
  bool silent = false;  // counted, but reported elsewhere
};

// A delivered failure inside a stage it only passes through.
struct Passing {
  Item failure;
};

class Queue {
 public:
  // `capacity` items may wait; it may be raised to `grown` while both neighbours are fast.
  // `slack` is the producers' concurrency: finished items that wait for room are kept here, and
  // each counts as a task that has not ended.
  void shape(int capacity, int grown, int slack) {
    base_ = capacity_ = capacity;
    grown_ = grown > capacity ? grown : capacity;
    slack_ = slack;
    ring_.resize(
        std::bit_ceil(static_cast<std::size_t>(grown_ + 2 * slack_ + 2)));  // + marks, heads
  }

  bool empty() const noexcept { return size_ == 0; }
  int size() const noexcept { return size_; }
  int capacity() const noexcept { return capacity_; }
  void set_fast(bool fast) noexcept { capacity_ = fast ? grown_ : base_; }
  bool grown() const noexcept { return capacity_ > base_; }

  // How many more items may be promised to this queue.
  int room() const noexcept { return capacity_ + slack_ - size_ - reserved_; }
  void reserve(int n) noexcept { reserved_ += n; }
  void release(int n) noexcept {
    reserved_ -= n;
    assert(reserved_ >= 0);
  }

  Item& front() noexcept { return ring_[head_ & mask()]; }
  void push(Item&& item) noexcept {
    assert(static_cast<std::size_t>(size_) < ring_.size());
    ring_[(head_ + static_cast<std::size_t>(size_)) & mask()] = std::move(item);
    ++size_;
  }
  Item pop() noexcept {
    assert(size_ > 0);
    Item item = std::move(front());
    ++head_;
    --size_;
    return item;
  }

  // For traces: how many have gone through, what they are numbered by, and what has come since.
  std::uint32_t popped() const noexcept { return static_cast<std::uint32_t>(head_); }
  std::uint32_t pushed() const noexcept { return popped() + static_cast<std::uint32_t>(size_); }
  void note_pushed() noexcept { noted_ = pushed(); }
  std::uint32_t noted() const noexcept { return noted_; }
  std::uint32_t pushed_since_note() const noexcept { return pushed() - noted_; }

  // For statistics: called by the reader before it takes something. What is here beyond the
  // capacity counts as tasks that have not ended, not as items that wait.
  void sample_size() noexcept {
    sampled_sum_ += static_cast<std::uint64_t>(size_ < capacity_ ? size_ : capacity_);
    ++samples_;
  }
  double mean_size() const noexcept {
    return samples_ == 0 ? 0.0 : static_cast<double>(sampled_sum_) / static_cast<double>(samples_);
  }

  std::vector<Stage*> producers;  // one entry per edge
  Stage* reader = nullptr;        // null: the consumer
  std::size_t ended = 0;          // producers that delivered their end
  std::vector<Stage*> waiting;    // producers at the barrier, one entry per edge
  std::uint32_t number = 0;       // of this queue, among all of the process

 private:
  std::size_t mask() const noexcept { return ring_.size() - 1; }

  std::vector<Item> ring_;
  std::size_t head_ = 0;
  int size_ = 0;
  int reserved_ = 0;
  int base_ = 1;
  int capacity_ = 1;
  int grown_ = 1;
  int slack_ = 0;
  std::uint64_t sampled_sum_ = 0;
  std::uint64_t samples_ = 0;
  std::uint32_t noted_ = 0;
};

}  // namespace penstock::engine
