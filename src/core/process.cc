#include "core/process.h"

#include <pthread.h>

#include <atomic>

namespace penstock::detail {

namespace {
std::atomic<std::uint64_t> forks{0};
void count_fork() {
  forks.fetch_add(1, std::memory_order_relaxed);
}
const int registered = pthread_atfork(nullptr, nullptr, count_fork);
}  // namespace

std::uint64_t process_number() noexcept {
  (void)registered;
  return forks.load(std::memory_order_relaxed);
}

}  // namespace penstock::detail
