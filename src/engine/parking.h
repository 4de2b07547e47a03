// Where idle threads wait. A waker takes one idle thread at a time, the one that came last (its
// memory is warm), so that two wake-ups in a row never go to the same sleeper, and a pool without
// idle threads costs a waker one atomic load.
//
// A thread that has found nothing to do:  declare(); look once more; then either retract() and
// work, or park(). Because it looks again after declaring itself idle, no wake-up is lost.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "engine/clock.h"
#include "engine/lock.h"

namespace penstock::engine {

class Parking {
 public:
  // A thread's place, for as long as it uses this.
  class Place {
   private:
    friend class Parking;
    std::atomic<bool> called{false};
    bool asleep = false;
    CondVar cond;
    Patience patience;
  };

  bool idle() const noexcept { return idle_.load(std::memory_order_seq_cst) > 0; }

  void declare(Place& place) {
    std::lock_guard hold(lock_);
    places_.push_back(&place);
    idle_.fetch_add(1, std::memory_order_seq_cst);
  }

  // Not idle after all. True: a waker had chosen this thread already; its call is used up.
  bool retract(Place& place) {
    std::lock_guard hold(lock_);
    if (std::erase(places_, &place) > 0) idle_.fetch_sub(1, std::memory_order_seq_cst);
    return place.called.exchange(false, std::memory_order_relaxed);
  }

  // True: a waker has chosen this thread. False: none has for `limit_ns` (0: for ever), and it is
  // not idle any more. The next task often comes within microseconds; a sleep and a wake-up cost
  // more.
  bool park(Place& place, std::int64_t spin_ns, std::int64_t limit_ns = 0) {
    const auto called = [&] { return place.called.load(std::memory_order_relaxed); };
    const std::int64_t until = now_ns() + place.patience.ns(spin_ns);
    do {
      for (int i = 0; i < 16 && !called(); ++i) relax();
    } while (!called() && now_ns() < until);
    now_ns() < until ? place.patience.found() : place.patience.gave_up();
    const std::int64_t deadline = now_ns() + limit_ns;
    std::lock_guard hold(lock_);
    place.asleep = true;
    while (!called() && (limit_ns == 0 || now_ns() < deadline)) {
      limit_ns == 0 ? place.cond.wait(lock_) : place.cond.wait_until(lock_, deadline);
    }
    place.asleep = false;
    if (place.called.exchange(false, std::memory_order_relaxed)) return true;
    std::erase(places_, &place);
    idle_.fetch_sub(1, std::memory_order_seq_cst);
    return false;
  }

  // Chooses one idle thread; false: there is none.
  bool wake_one() noexcept {
    if (!idle()) return false;
    std::lock_guard hold(lock_);
    if (places_.empty()) return false;
    Place& place = *places_.back();
    places_.pop_back();
    idle_.fetch_sub(1, std::memory_order_seq_cst);
    place.called.store(true, std::memory_order_relaxed);
    if (place.asleep) place.cond.notify_one();
    return true;
  }

 private:
  Mutex lock_;
  std::vector<Place*> places_;  // of idle threads that nobody has called yet
  std::atomic<int> idle_{0};    // how many these are
};

}  // namespace penstock::engine
