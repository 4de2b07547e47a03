// What the engine itself costs: per item and stage, per row of a batch, to start and to stop.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "penstock/pipeline.h"

namespace penstock {
namespace {

auto count_to(std::int64_t n) {
  return [i = std::int64_t{0}, n]() mutable -> std::optional<std::int64_t> {
    return i < n ? std::optional(i++) : std::nullopt;
  };
}

// A source, K no-op stages and a consumer; two workers. The figure to look at is ns_per_stage:
// wall time per item divided by the stages it passes (the source counts as one). With a small sink
// the consumer, which is faster than the stages, sleeps and is woken up every few dozen items, and
// that is what is measured; a large one shows the stages.
void BM_NoopStages(benchmark::State& state) {
  const auto stages = static_cast<int>(state.range(0));
  constexpr std::int64_t kItems = 1'000'000;
  for (auto _ : state) {
    PipelineBuilder builder;
    builder.add_source("source", count_to(kItems));
    for (int k = 0; k < stages; ++k) {
      builder.pipe("noop", [](std::int64_t x) { return x; });
    }
    builder.add_sink(static_cast<int>(state.range(1)));
    Pipeline pipeline = std::move(builder.build({.threads = 2})).value();
    (void)pipeline.start();
    std::int64_t seen = 0;
    while (pipeline.get_item().kind == Delivery::Kind::item) ++seen;
    if (seen != kItems) state.SkipWithError("items were lost");
  }
  const double total = static_cast<double>(state.iterations()) * kItems * (stages + 1);
  state.counters["ns_per_stage"] =
      benchmark::Counter(total * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_NoopStages)
    ->ArgsProduct({{1, 4, 8}, {1024, 64}})
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

struct Batch {
  std::int64_t first = 0;
  std::vector<std::uint32_t> rows;
};

// Batches of 256 rows whose work is one store. ns_per_row is all overhead.
void BM_FillRows(benchmark::State& state) {
  constexpr std::int64_t kBatches = 4'000;
  constexpr std::size_t kRows = 256;
  for (auto _ : state) {
    PipelineBuilder builder;
    builder.add_source("batches",
                       [next = std::int64_t{0}]() mutable -> std::optional<std::unique_ptr<Batch>> {
                         if (next == kBatches) return std::nullopt;
                         auto batch = std::make_unique<Batch>();
                         batch->first = next++ * static_cast<std::int64_t>(kRows);
                         batch->rows.resize(kRows);
                         return batch;
                       });
    builder.fill<std::unique_ptr<Batch>>(
        "rows", [](const auto&) { return kRows; },
        [](std::unique_ptr<Batch>& batch, std::size_t row) {
          batch->rows[row] = static_cast<std::uint32_t>(row);
          return Status();
        });
    builder.add_sink(4);
    Pipeline pipeline =
        std::move(builder.build({.threads = static_cast<int>(state.range(0))})).value();
    (void)pipeline.start();
    while (pipeline.get_item().kind == Delivery::Kind::item) {
    }
  }
  const double total = static_cast<double>(state.iterations()) * kBatches * kRows;
  state.counters["ns_per_row"] =
      benchmark::Counter(total * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_FillRows)
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

// From start() to the first item, threads included, and stop() with every queue full.
void BM_StartAndStop(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  double first = 0, stop = 0;
  for (auto _ : state) {
    PipelineBuilder builder;
    builder.add_source("source", count_to(INT64_MAX));
    for (int k = 0; k < 4; ++k) builder.pipe("noop", [](std::int64_t x) { return x; });
    builder.add_sink(64);
    const auto t0 = Clock::now();
    Pipeline pipeline = std::move(builder.build({.threads = 2})).value();
    (void)pipeline.start();
    (void)pipeline.get_item();
    const auto t1 = Clock::now();
    while (pipeline.stats().stages.back().queue_size < 64) {
    }
    const auto t2 = Clock::now();
    (void)pipeline.stop();
    const auto t3 = Clock::now();
    first += std::chrono::duration<double, std::micro>(t1 - t0).count();
    stop += std::chrono::duration<double, std::micro>(t3 - t2).count();
  }
  state.counters["first_item_us"] = first / static_cast<double>(state.iterations());
  state.counters["stop_us"] = stop / static_cast<double>(state.iterations());
}
BENCHMARK(BM_StartAndStop)->Unit(benchmark::kMicrosecond)->MeasureProcessCPUTime()->UseRealTime();

}  // namespace
}  // namespace penstock
