#include "engine/thread_delay.h"

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

}  // namespace penstock::engine
