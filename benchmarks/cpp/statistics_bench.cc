// What the statistics of one task cost: the readings of the clock, the histogram, and the
// conditions of the stage when it begins and when it ends.
#include <benchmark/benchmark.h>

#include "engine/clock.h"
#include "engine/stage.h"

namespace penstock::engine {
namespace {

void statistics_of_a_task(benchmark::State& state) {
  Queue before, after;
  before.shape(4, 4, 1);
  after.shape(4, 4, 1);
  Stage stage;
  stage.in = &before;
  stage.out = {&after};
  for (auto _ : state) {
    const std::int64_t started = now_ns();
    before.sample_size();
    stage.touch(started);
    const std::int64_t ended = now_ns();
    stage.record_tasks(ended - started, 1);
    stage.touch(ended);
  }
  benchmark::DoNotOptimize(stage.task_ns);
}
BENCHMARK(statistics_of_a_task);

}  // namespace
}  // namespace penstock::engine
