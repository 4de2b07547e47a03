// Memory over a long run: heap-allocated items through three stages, resident memory on the way.
//
//   engine_soak_bench [items in millions, 10 by default; the promise is for 100]
//
// Options of Google Benchmark are accepted and mean nothing here.
//
// Exits with 1 if an item was lost or if memory grew by more than 8 MB after the first tenth.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>

#include "penstock/pipeline.h"

namespace {

struct Sample {
  std::int64_t value;
  char more[56];  // too large to live inside an Item
};

double resident_mb() {
  std::int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return static_cast<double>(resident * sysconf(_SC_PAGESIZE)) / (1 << 20);
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t items = (argc > 1 && argv[1][0] != '-' ? std::atoll(argv[1]) : 10) * 1'000'000;
  if (items <= 0) {
    std::fprintf(stderr, "usage: engine_soak_bench [items in millions]\n");
    return 2;
  }
  penstock::PipelineBuilder builder;
  builder.add_source("make", [i = std::int64_t{0}, items]() mutable -> std::optional<Sample> {
    return i < items ? std::optional(Sample{i++, {}}) : std::nullopt;
  });
  builder.pipe("box", [](Sample x) { return std::make_unique<Sample>(x); });
  builder.pipe("open", [](std::unique_ptr<Sample> x) { return *x; });
  builder.add_sink(16);
  auto built = builder.build({.threads = 2});
  if (!built.ok() || !built->start().ok()) return 1;

  const auto began = std::chrono::steady_clock::now();
  std::printf("%12s %10s %10s\n", "items", "MB", "s");
  double warm = 0;
  std::int64_t seen = 0, sum = 0;
  for (;; ++seen) {
    if (seen % (items / 10) == 0) {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
      const double now = resident_mb();
      if (seen == items / 10) warm = now;
      std::printf("%12lld %10.2f %10.1f\n", static_cast<long long>(seen), now, passed.count());
      std::fflush(stdout);
    }
    auto got = built->next<Sample>();
    if (!got.ok()) return 1;
    if (!*got) break;
    sum += (**got).value;
  }
  const double grown = resident_mb() - warm;
  std::printf("grown by %.2f MB after the first tenth\n", grown);
  return seen == items && sum == items * (items - 1) / 2 && grown < 8 ? 0 : 1;
}
