// The engine's clock: nanoseconds of the monotonic clock, about 20 ns a reading.
#pragma once

#include <time.h>

#include <cstdint>

namespace penstock::engine {

inline std::int64_t now_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// A hint to the core that this is a busy wait.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace penstock::engine
