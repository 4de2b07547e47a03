// What a pipeline measures of itself, all the time. Plain values: a snapshot at one moment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

struct StageStats {
  std::string name;
  int concurrency = 1;
  int running = 0;  // tasks at this moment

  std::uint64_t items_in = 0;
  std::uint64_t items_out = 0;
  std::uint64_t dropped = 0;   // tasks that ended without an output
  std::uint64_t failures = 0;  // tasks that failed
  std::uint64_t bytes = 0;     // what it has read or made, where that is known

  // One task (a row, for stages that fill batches), from start to end.
  std::uint64_t tasks = 0;
  double task_seconds = 0;  // sum over all tasks
  double mean_seconds = 0;
  double p50_seconds = 0;
  double p99_seconds = 0;

  // Wall time during which the stage could have started another task but for one reason.
  double waiting_seconds = 0;  // nothing to work on
  double blocked_seconds = 0;  // the next stage is behind

  // The queue after this stage.
  std::size_t queue_size = 0;
  std::size_t queue_capacity = 0;
  double queue_mean = 0;  // as its reader found it
};

struct SinkStats {
  std::uint64_t requests = 0;  // get_item calls that ended with an item
  std::uint64_t ready = 0;     // of these, how many found it waiting
  double wait_seconds = 0;     // time the consumer spent waiting

  // Share of requests that did not have to wait; 1 before the first.
  double readiness() const {
    return requests == 0 ? 1.0 : static_cast<double>(ready) / static_cast<double>(requests);
  }
};

struct PipelineStats {
  std::vector<StageStats> stages;  // in the order of the flow
  SinkStats sink;
  double seconds = 0;  // since start
};

}  // namespace penstock
