// A call that other threads lend a hand to. They are kept for the next call: what a decoder has
// made for a thread stays warm, and nothing is allocated once there are enough of them.
//
// A helper that nobody has asked for in two seconds ends. A forked child has none at first. The
// end of the process does not wait for idle ones.
//
// Thread safety: any thread, also several at once and from within a call: each gets helpers of
// its own.
#pragma once

#include <cstddef>

namespace penstock::detail {

void call_together(std::size_t helpers, void (*call)(const void*), const void* work) noexcept;

// Calls work() here and on so many helpers at the same time; returns when all calls have returned.
// Fewer help if the system has no thread left. `work` must not throw.
template <class Work>
void work_together(std::size_t helpers, const Work& work) noexcept {
  call_together(
      helpers, [](const void* one) { (*static_cast<const Work*>(one))(); }, &work);
}

}  // namespace penstock::detail
