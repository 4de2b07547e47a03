// A mutex for short critical sections that a few threads enter very often.
//
// It looks for some ten microseconds before it sleeps: what it guards takes a fraction of that, and
// a sleep costs more.
#pragma once

#include <pthread.h>

#include <algorithm>

namespace penstock::detail {

// A hint to the core that this is a busy wait.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

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

  pthread_mutex_t* native() noexcept { return &mutex_; }  // for condition variables

 private:
  static constexpr int kLooks = 16;
  static constexpr int kPauses = 16;

  pthread_mutex_t mutex_;
};

}  // namespace penstock::detail
