// Where idle threads wait. A waker takes one idle thread at a time, so that two wake-ups in a row
// never go to the same sleeper, and a pool without idle threads costs a waker one atomic load.
//
// A thread that has found nothing to do:  declare(); look once more; then either retract() and
// work, or park(). Because it looks again after declaring itself idle, no wake-up is lost.
#pragma once

#include <atomic>

#include "engine/clock.h"
#include "engine/lock.h"

namespace penstock::engine {

class Parking {
 public:
  bool idle() const noexcept { return idle_.load(std::memory_order_seq_cst) > 0; }

  void declare() noexcept { idle_.fetch_add(1, std::memory_order_seq_cst); }

  // Not idle after all. A waker may have chosen this thread already: then its call is used up.
  void retract() {
    if (!take_one(idle_)) consume();
  }

  // Returns when a waker has chosen this thread.
  void park() {
    // The next task often comes within a microsecond; a sleep and a wake-up cost five.
    for (int i = 0; i < kSpins; ++i) {
      if (take_one(calls_)) return;
      relax();
    }
    lock_.lock();
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    while (!take_one(calls_)) cond_.wait(lock_);
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    lock_.unlock();
  }

  // Chooses one idle thread, if there is one.
  void wake_one() noexcept {
    if (!take_one(idle_)) return;
    calls_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
    lock_.lock();
    lock_.unlock();
    cond_.notify_one();
  }

 private:
  static constexpr int kSpins = 64;

  static bool take_one(std::atomic<int>& counter) noexcept {
    int n = counter.load(std::memory_order_seq_cst);
    while (n > 0) {
      if (counter.compare_exchange_weak(n, n - 1, std::memory_order_seq_cst)) return true;
    }
    return false;
  }

  void consume() {
    while (!take_one(calls_)) relax();
  }

  std::atomic<int> idle_{0};      // threads nobody has called yet
  std::atomic<int> calls_{0};     // calls that no thread has answered yet
  std::atomic<int> sleepers_{0};  // threads inside cond_.wait
  Mutex lock_;
  CondVar cond_;
};

}  // namespace penstock::engine
