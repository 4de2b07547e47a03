// Memory stays flat however many items pass.
#include <unistd.h>

#include <memory>

#include "helpers.h"

namespace penstock {
namespace {

// Bytes of this process that are in memory.
std::int64_t resident_bytes() {
  std::int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(Memory, stays_flat_over_millions_of_items) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int kItems = 100'000;  // sanitizers are slow, and keep freed memory for a while
#else
  constexpr int kItems = 2'000'000;
#endif
  struct Heap {
    std::int64_t value;
    char more[56];  // too large to live inside an Item
  };
  PipelineBuilder builder;
  builder.add_source("make", [i = 0]() mutable -> std::optional<Heap> {
    return i < kItems ? std::optional(Heap{i++, {}}) : std::nullopt;
  });
  builder.pipe("box", [](Heap x) { return std::make_unique<Heap>(x); });
  builder.pipe("open", [](std::unique_ptr<Heap> x) { return *x; });
  builder.add_sink(16);
  Pipeline pipeline = must_start(builder);

  std::int64_t warm = 0, sum = 0;
  for (std::int64_t i = 0; i < kItems; ++i) {
    if (i == kItems / 10) warm = resident_bytes();
    sum += pipeline.next<Heap>()->value().value;
  }
  const std::int64_t grown = resident_bytes() - warm;
  EXPECT_EQ(sum, std::int64_t{kItems} * (kItems - 1) / 2);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::int64_t kBound = 1024 << 20;
#else
  constexpr std::int64_t kBound = 8 << 20;  // 5 bytes for each item would be noticed
#endif
  EXPECT_LT(grown, kBound) << "resident memory grew by " << grown << " bytes";
}

}  // namespace
}  // namespace penstock
