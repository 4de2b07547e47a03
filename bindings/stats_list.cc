#include "stats_list.h"

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace penstock::bindings {

nb::list stats_list(const PyEngine& engine, const PipelineStats& stats, double memory_wait) {
  nb::list all;
  for (std::size_t i = 0; i < stats.stages.size(); ++i) {
    const StageStats& stage = stats.stages[i];
    nb::dict one;
    one["name"] = stage.name;
    one["concurrency"] = stage.concurrency;
    one["running"] = stage.running;
    one["items_in"] = stage.items_in;
    one["items_out"] = stage.items_out;
    one["dropped"] = stage.dropped;
    one["failures"] = stage.failures;
    one["bytes"] = stage.bytes;
    one["tasks"] = stage.tasks;
    one["task_seconds"] = stage.task_seconds;
    one["mean"] = stage.mean_seconds;
    one["p50"] = stage.p50_seconds;
    one["p99"] = stage.p99_seconds;
    one["waiting"] = stage.waiting_seconds;
    one["blocked"] = stage.blocked_seconds;
    one["queue_size"] = stage.queue_size;
    one["queue_capacity"] = stage.queue_capacity;
    one["queue_mean"] = stage.queue_mean;
    one["gil_wait"] = engine.gil_wait(i);
    one["python"] = engine.calls_python(i);
    all.append(one);
  }
  nb::dict sink;
  sink["requests"] = stats.sink.requests;
  sink["ready"] = stats.sink.ready;
  sink["wait"] = stats.sink.wait_seconds;
  sink["readiness"] = stats.sink.readiness();
  sink["seconds"] = stats.seconds;
  sink["python_cpu"] = engine.python_cpu();
  sink["native_delay"] = engine.native_delay();
  sink["python_delay"] = engine.python_delay();
  sink["stolen"] = engine.stolen();
  sink["gil_wait"] = engine.consumer_gil_wait();
  sink["process_cpu"] = engine.process_cpu();
  sink["memory_wait"] = memory_wait;
  all.append(sink);
  return all;
}

}  // namespace penstock::bindings
