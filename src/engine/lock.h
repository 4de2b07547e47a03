// Mutex and CondVar for the engine. The condition variable waits on the monotonic clock through
// calls that ThreadSanitizer understands, which std::condition_variable's do not in GCC 12.
#pragma once

#include <pthread.h>
#include <time.h>

#include <cstdint>

#include "core/mutex.h"

namespace penstock::engine {

using detail::Mutex;
using detail::relax;

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
  void wait(Mutex& mutex) { pthread_cond_wait(&cond_, mutex.native()); }
  // `deadline` in nanoseconds of the monotonic clock (clock.h).
  void wait_until(Mutex& mutex, std::int64_t deadline) {
    timespec at;
    at.tv_sec = deadline / 1'000'000'000;
    at.tv_nsec = deadline % 1'000'000'000;
    pthread_cond_timedwait(&cond_, mutex.native(), &at);
  }

 private:
  pthread_cond_t cond_;
};

}  // namespace penstock::engine
