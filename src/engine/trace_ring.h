// Memory for the last slices of one kind that one thread has recorded.
//
// It is set aside at once and fetched from the system when slices come. That costs more than to
// write them, if it is done page by page: so there is a little for threads that have few, and then
// huge pages, where the system has them.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace penstock::engine {

// So many bytes are fetched together; and first, in small pages.
inline constexpr std::size_t kTraceStep = std::size_t{64} << 10;
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

struct Unmap {
  std::size_t bytes = 0;
  void operator()(std::byte* memory) const noexcept { munmap(memory, bytes); }
};

struct TraceMemory {
  std::unique_ptr<std::byte[], Unmap> all;
  std::byte* begin = nullptr;  // of what may be used
};

// Nothing: there is no memory.
TraceMemory set_trace_memory_aside(std::size_t bytes) noexcept;
// Where the system can: these bytes are there, and need not be fetched one page at a time.
void fetch_trace_memory(const void* begin, const void* end) noexcept;

template <class Slice>
class LastSlices {
 public:
  // Where the next one goes, for the caller to fill in; `most` are kept. Null: there is no memory.
  [[gnu::always_inline]] Slice* add(const std::atomic<std::size_t>& most) noexcept {
    if (next_ == stop_ && !go_on(most.load(std::memory_order_relaxed))) [[unlikely]]
      return nullptr;
    __builtin_prefetch(next_ + kAhead, 1);
    return next_++;
  }

  std::uint64_t written() const noexcept {
    return rounds_ * size_ + static_cast<std::size_t>(next_ - first_);
  }

  // Calls use(slice) for each that is there, oldest first, and lets go of them.
  template <class Use>
  void take(Use use) {
    if (rounds_ > 0) std::for_each(next_, end(), use);
    std::for_each(first_, next_, use);
    memory_ = {};
    size_ = 0;
    rounds_ = 0;
    first_ = next_ = stop_ = nullptr;
  }

 private:
  Slice* end() const noexcept { return first_ + size_; }

  // Behind the memory that is there: sets it aside, fetches more of it, or begins again.
  [[gnu::noinline]] bool go_on(std::size_t most) noexcept {
    if (first_ == nullptr) {
      memory_ = set_trace_memory_aside(most * sizeof(Slice));
      if (memory_.begin == nullptr) return false;
      first_ = next_ = stop_ = reinterpret_cast<Slice*>(memory_.begin);
      size_ = most;
      rounds_ = 0;
    }
    if (next_ == end()) {
      next_ = first_;
      stop_ = end();
      ++rounds_;
      return true;
    }
    stop_ += std::min<std::ptrdiff_t>(kTraceStep / sizeof(Slice), end() - next_);
    fetch_trace_memory(next_, stop_);
    return true;
  }

  // A write that has to wait for memory holds up all that come after it.
  static constexpr std::size_t kAhead = 128 / sizeof(Slice) + 1;

  Slice* next_ = nullptr;
  Slice* stop_ = nullptr;  // where the memory ends that is there
  Slice* first_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t rounds_ = 0;
  TraceMemory memory_;
};

}  // namespace penstock::engine
