#include "engine/thread_delay.h"

#include <unistd.h>

#include <cstdio>

namespace penstock::engine {

std::int64_t thread_delay_ns(int thread) noexcept {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", thread);
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return 0;
  long long ran = 0, waited = 0;
  if (std::fscanf(file, "%lld %lld", &ran, &waited) != 2) waited = 0;
  std::fclose(file);
  return waited;
}

std::int64_t stolen_ns() noexcept {
  std::FILE* file = std::fopen("/proc/stat", "re");
  if (file == nullptr) return 0;
  // user, nice, system, idle, iowait, irq, softirq, steal; of all cores together
  long long steal = 0;
  if (std::fscanf(file, "cpu %*d %*d %*d %*d %*d %*d %*d %lld", &steal) != 1) steal = 0;
  std::fclose(file);
  const long ticks = sysconf(_SC_CLK_TCK), cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (ticks < 1 || cores < 1) return 0;
  return steal * (1'000'000'000 / ticks) / cores;
}

}  // namespace penstock::engine
