// The memory of a trace keeps the last slices, whatever pages it is made of.
#include "engine/trace_ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/trace.h"

namespace penstock::engine {
namespace {

template <class Slice>
std::vector<std::uint64_t> last_of(LastSlices<Slice>& ring, std::size_t most, std::uint64_t count) {
  const std::atomic<std::size_t> kept{most};
  for (std::uint64_t i = 0; i < count; ++i) {
    Slice* slice = ring.add(kept);
    if (slice == nullptr) return {};
    slice->position = i;
  }
  EXPECT_EQ(ring.written(), count);
  std::vector<std::uint64_t> positions;
  ring.take([&](const Slice& slice) { positions.push_back(slice.position); });
  EXPECT_EQ(ring.written(), 0u);
  return positions;
}

template <class Slice>
void expect_last_kept(std::size_t most, std::uint64_t count) {
  SCOPED_TRACE(testing::Message() << count << " of which " << most << " are kept");
  LastSlices<Slice> ring;
  for (int round = 0; round < 2; ++round) {  // it may be used again
    const std::vector<std::uint64_t> positions = last_of(ring, most, count);
    const std::uint64_t first = count > most ? count - most : 0;
    ASSERT_EQ(positions.size(), count - first);
    for (std::size_t i = 0; i < positions.size(); ++i) ASSERT_EQ(positions[i], first + i);
  }
}

TEST(TraceRing, the_last_slices_are_kept_in_their_order) {
  for (const std::size_t most : {1u, 10u, 2'047u, 2'049u, 40'000u, 65'536u, 170'001u}) {
    for (const std::uint64_t count : {most / 2, most, most + 1, 2 * most + most / 2}) {
      expect_last_kept<PlainTask>(most, count);
      expect_last_kept<TraceSlice>(most, count);
    }
  }
}

TEST(TraceRing, small_ones_are_not_made_of_huge_pages) {
  for (const std::size_t bytes : {std::size_t{1}, kTraceStep, kTraceStep + kHugePage / 2 - 1}) {
    const TraceMemory memory = set_trace_memory_aside(bytes);
    ASSERT_NE(memory.begin, nullptr);
    EXPECT_EQ(memory.begin, memory.all.get());
    EXPECT_EQ(memory.all.get_deleter().bytes, bytes);
  }
}

TEST(TraceRing, huge_pages_begin_behind_the_first_step) {
  for (const std::size_t bytes : {kTraceStep + kHugePage / 2, kHugePage, 5 * kHugePage / 2 + 1}) {
    const TraceMemory memory = set_trace_memory_aside(bytes);
    ASSERT_NE(memory.begin, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.begin + kTraceStep) % kHugePage, 0u);
    EXPECT_GE(memory.begin, memory.all.get());
    EXPECT_LE(memory.begin + bytes, memory.all.get() + memory.all.get_deleter().bytes);
  }
}

}  // namespace
}  // namespace penstock::engine
