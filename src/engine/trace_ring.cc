#include "engine/trace_ring.h"

namespace penstock::engine {

namespace {

std::byte* rounded_up(std::byte* address, std::size_t to) {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  return address + (to - number % to) % to;
}

}  // namespace

TraceMemory set_trace_memory_aside(std::size_t bytes) noexcept {
  // A huge page comes as a whole, so the last one must be used by half at least.
  const std::size_t behind = bytes > kTraceStep ? bytes - kTraceStep : 0;
  const std::size_t huge = (behind + kHugePage / 2) / kHugePage * kHugePage;
  const std::size_t all =
      huge == 0 ? bytes : kHugePage + kTraceStep + std::max(behind, huge);  // it is to be aligned
  void* mapped = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return {};
  TraceMemory memory{{static_cast<std::byte*>(mapped), Unmap{all}}, nullptr};
  memory.begin = memory.all.get();
  (void)madvise(mapped, all, MADV_NOHUGEPAGE);
  if (huge > 0) {
    std::byte* aligned = rounded_up(memory.begin + kTraceStep, kHugePage);
    (void)madvise(aligned, huge, MADV_HUGEPAGE);
    memory.begin = aligned - kTraceStep;
  }
  return memory;
}

void fetch_trace_memory([[maybe_unused]] const void* begin,
                        [[maybe_unused]] const void* end) noexcept {
#ifdef MADV_POPULATE_WRITE  // refused by older systems: then there are page faults
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(begin) / page * page;
  const auto size = reinterpret_cast<std::uintptr_t>(end) - first;
  (void)madvise(reinterpret_cast<void*>(first), size, MADV_POPULATE_WRITE);
#endif
}

}  // namespace penstock::engine
