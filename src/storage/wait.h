// Waiting for bytes from afar that nobody may need any more: inside of a task whose pipeline is
// being stopped, what is under way is abandoned.
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "engine/stopping.h"

namespace penstock::storage {

inline constexpr std::chrono::milliseconds kLookAgain{50};  // whether it was abandoned

// Waits until `over()`. Whoever sees to that is told through `abandoned` to do it soon.
template <class Over>
void wait_unless_stopped(std::condition_variable& changed, std::unique_lock<std::mutex>& hold,
                         std::atomic<bool>& abandoned, const Over& over) {
  do {
    if (engine::task_is_stopping()) abandoned = true;
  } while (!changed.wait_for(hold, kLookAgain, over));
}

// The same where others see to it, who may be in no hurry. False: the pipeline is being stopped.
template <class Over>
bool wait_or_stop(std::condition_variable& changed, std::unique_lock<std::mutex>& hold,
                  const Over& over) {
  do {
    if (engine::task_is_stopping()) return over();
  } while (!changed.wait_for(hold, kLookAgain, over));
  return true;
}

}  // namespace penstock::storage
