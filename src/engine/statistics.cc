#include <algorithm>
#include <mutex>

#include "engine/clock.h"
#include "engine/engine.h"

namespace penstock::engine {

PipelineStats Engine::stats() const {
  PipelineStats all;
  std::lock_guard hold(lock_);
  const std::int64_t now = state_ == State::stopped ? stopped_ : now_ns();
  all.seconds = state_ == State::built ? 0 : static_cast<double>(now - started_) * 1e-9;
  all.sink = sink_stats_;
  std::size_t in_hand = 0;
  {
    std::lock_guard hold_hand(hand_.lock);
    in_hand = hand_.items.size() - hand_.next;
    all.sink.requests += hand_.delivered;
    all.sink.ready += hand_.delivered;
  }
  for (const Stage* stage : flow_) {
    StageStats one;
    one.name = stage->spec.name;
    one.concurrency = stage->concurrency;
    one.running = stage->running;
    one.items_in = stage->items_in;
    one.items_out = stage->items_out;
    one.dropped = stage->dropped;
    one.failures = stage->failures;
    one.tasks = stage->histogram.total();
    one.task_seconds = static_cast<double>(stage->task_ns) * 1e-9;
    one.mean_seconds = one.tasks == 0 ? 0 : one.task_seconds / static_cast<double>(one.tasks);
    one.p50_seconds = stage->histogram.quantile(0.50);
    one.p99_seconds = stage->histogram.quantile(0.99);
    const auto spent = [&](Condition condition) {
      std::int64_t ns = stage->condition_ns[static_cast<std::size_t>(condition)];
      if (stage->condition == condition && state_ == State::running) ns += now - stage->since;
      return static_cast<double>(ns) * 1e-9;
    };
    one.waiting_seconds = spent(Condition::waiting);
    one.blocked_seconds = spent(Condition::blocked);
    for (const Queue* queue : stage->out) {
      one.queue_size += static_cast<std::size_t>(queue->size()) + (queue == sink_ ? in_hand : 0);
      one.queue_capacity += static_cast<std::size_t>(queue->capacity());
      // A queue that had grown, and is small again, may have had more in it.
      one.queue_mean += std::min(queue->mean_size(), static_cast<double>(queue->capacity()));
    }
    all.stages.push_back(std::move(one));
  }
  return all;
}

std::vector<FailureReport> Engine::failures() const {
  std::lock_guard hold(lock_);
  return reports_;
}

std::vector<FatalFailure> Engine::fatal_failures() const {
  std::lock_guard hold(lock_);
  return fatal_;
}

}  // namespace penstock::engine
