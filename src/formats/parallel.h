// Opening many files at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>

#include "core/together.h"

namespace penstock::formats {

// Calls work(0) ... work(count - 1), each once, on up to `threads` threads (0: two per core, since
// most of the time is waiting for the disk). `work` must not throw.
inline void for_each_in_parallel(std::size_t count, int threads,
                                 const std::function<void(std::size_t)>& work) {
  const std::size_t wanted =
      threads > 0 ? std::size_t(threads) : 2 * std::max(1U, std::thread::hardware_concurrency());
  std::atomic<std::size_t> next = 0;
  const auto run = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < count;) work(i);
  };
  if (count > 0) detail::work_together(std::min(wanted, count) - 1, run);
}

}  // namespace penstock::formats
