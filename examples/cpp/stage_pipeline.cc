// A pipeline of stages: numbers are made, squared by up to two workers at a time, put together in
// tens and read by the main thread. At the end each stage says what it did.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "penstock/pipeline.h"

int main() {
  constexpr std::int64_t kNumbers = 95;
  using penstock::Order;

  // clang-format off
  penstock::PipelineBuilder builder;
  builder.add_source("numbers", [i = std::int64_t{0}]() mutable -> std::optional<std::int64_t> {
    if (i == kNumbers) return std::nullopt;  // the end
    return i++;
  });
  builder.pipe("square", [](std::int64_t x) { return x * x; },
               {.concurrency = 2, .order = Order::input});
  builder.aggregate<std::int64_t>(10);
  builder.add_sink(3);

  penstock::Result<penstock::Pipeline> built = builder.build({.threads = 2});
  if (!built.ok()) {
    std::printf("%s\n", built.error().to_string().c_str());  // names the stage and the argument
    return 1;
  }
  penstock::Pipeline pipeline = std::move(*built);
  if (!pipeline.start().ok()) return 1;

  std::int64_t sum = 0, rows = 0;
  for (;;) {
    auto batch = pipeline.next<std::vector<std::int64_t>>();
    if (!batch.ok()) return 1;  // the pipeline has failed: batch.error() says why
    if (!*batch) break;         // the end
    for (std::int64_t x : **batch) {
      if (x != rows * rows) return 1;  // Order::input: squares come in the order of the numbers
      ++rows;
      sum += x;
    }
  }

  const penstock::PipelineStats stats = pipeline.stats();
  std::printf("%-16s %6s %6s %12s %12s\n", "stage", "in", "out", "mean us", "waiting ms");
  for (const penstock::StageStats& stage : stats.stages) {
    std::printf("%-16s %6llu %6llu %12.2f %12.2f\n", stage.name.c_str(),
                static_cast<unsigned long long>(stage.items_in),
                static_cast<unsigned long long>(stage.items_out), stage.mean_seconds * 1e6,
                stage.waiting_seconds * 1e3);
  }
  // clang-format on

  std::printf("sum %lld\n", static_cast<long long>(sum));
  return rows == kNumbers && sum == (kNumbers - 1) * kNumbers * (2 * kNumbers - 1) / 6 ? 0 : 1;
}
