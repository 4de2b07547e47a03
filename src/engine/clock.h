// The engine's clock: nanoseconds of the monotonic clock, about 20 ns a reading.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>

namespace penstock::engine {

inline std::int64_t now_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// CPU time of a thread or of the process.
inline std::int64_t cpu_ns(clockid_t clock) noexcept {
  timespec t;
  if (clock_gettime(clock, &t) != 0) return 0;  // it has ended
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// Longer timeouts mean for ever: ten years.
inline constexpr std::int64_t kLongestNs = std::int64_t{10} * 365 * 86'400 * 1'000'000'000;

// How long it is worth looking for something before going to sleep: `most`, unless looking has been
// in vain of late, which is so when other programs want the cores.
class Patience {
 public:
  std::int64_t ns(std::int64_t most) const noexcept {
    return failures_ < kFewFailures ? most : std::min(most, kLeastNs);
  }
  void found() noexcept { failures_ = 0; }
  void gave_up() noexcept {
    if (++failures_ >= kFewFailures + kPause) failures_ = 0;  // things may have changed
  }

 private:
  static constexpr int kFewFailures = 2;
  static constexpr int kPause = 30;
  static constexpr std::int64_t kLeastNs = 1'000;
  int failures_ = 0;
};

}  // namespace penstock::engine
