// Opening many files at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

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
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min(wanted, count); ++i) {
    try {
      others.emplace_back(run);
    } catch (const std::system_error&) {
      break;  // fewer threads than asked for: the ones there are do the work
    }
  }
  run();
}

}  // namespace penstock::formats
