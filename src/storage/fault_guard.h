// Looking at mapped files that others may shorten: memory that is no longer there becomes an answer
// instead of the end of the process.
//
// The first use sets a handler for SIGBUS, which stays; each use sees to it that there is one.
// Faults that happen elsewhere go to the handler that was there before.
//
// Thread safety: any thread at any time.
#pragma once

#include <memory>

namespace penstock::storage {

// Runs `work(with)`. False if it came upon memory that was not there: then it ended in the middle,
// without a trace of it on the stack, so it must not hold anything that has a destructor.
bool survives(void (*work)(void*), void* with) noexcept;

// The same for what can be called, by reference.
template <class Work>
bool survives(const Work& work) noexcept {
  const auto call = [](void* with) { (*static_cast<const Work*>(with))(); };
  return survives(call, const_cast<Work*>(std::addressof(work)));
}

}  // namespace penstock::storage
