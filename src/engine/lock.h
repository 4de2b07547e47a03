// Mutex and CondVar for the engine: short critical sections, entered by a few threads very often.
//
// The mutex looks for some ten microseconds before it sleeps: critical sections here take a
// fraction of that, and a sleep costs more. The condition variable waits on the monotonic clock
// through calls that ThreadSanitizer understands, which std::condition_variable's do not in GCC 12.
#pragma once

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <cstdint>

#include "engine/clock.h"

namespace penstock::engine {

class Mutex {
 public:
  Mutex() { pthread_mutex_init(&mutex_, nullptr); }
  ~Mutex() { pthread_mutex_destroy(&mutex_); }
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  bool try_lock() { return pthread_mutex_trylock(&mutex_) == 0; }
  void lock() {
    // Looks less and less often: each look takes the cache line from the thread that holds it.
    for (int looks = 0; looks < kLooks; ++looks) {
      if (try_lock()) return;
      for (int i = 0; i < std::min(1 << looks, kPauses); ++i) relax();
    }
    pthread_mutex_lock(&mutex_);
  }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  static constexpr int kLooks = 16;
  static constexpr int kPauses = 16;

  friend class CondVar;
  pthread_mutex_t mutex_;
};

class CondVar {
 public:
  CondVar() {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&cond_, &attributes);
    pthread_condattr_destroy(&attributes);
  }
  ~CondVar() { pthread_cond_destroy(&cond_); }
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  void notify_one() { pthread_cond_signal(&cond_); }
  void notify_all() { pthread_cond_broadcast(&cond_); }

  // The mutex must be held. Wakes up spuriously, as condition variables do.
  void wait(Mutex& mutex) { pthread_cond_wait(&cond_, &mutex.mutex_); }
  // `deadline` in nanoseconds of the monotonic clock (clock.h).
  void wait_until(Mutex& mutex, std::int64_t deadline) {
    timespec at;
    at.tv_sec = deadline / 1'000'000'000;
    at.tv_nsec = deadline % 1'000'000'000;
    pthread_cond_timedwait(&cond_, &mutex.mutex_, &at);
  }

 private:
  pthread_cond_t cond_;
};

}  // namespace penstock::engine
