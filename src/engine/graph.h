// The graph that a PipelineBuilder collects, and the check that makes sure it can run.
#pragma once

#include <optional>
#include <vector>

#include "engine/stage.h"
#include "penstock/pipeline.h"

namespace penstock::engine {

struct Edge {
  Port from;
  StageId to;  // kSink: the consumer
};

struct GraphSpec {
  static constexpr StageId kSink = -1;

  std::vector<StageSpec> stages = {};
  std::vector<Edge> edges = {};
  std::optional<int> sink_size = {};
  std::vector<Port> tail = {};  // where the next stage is attached
  std::optional<Error> mistake = {};
  bool built = false;

  // The first mistake, in words a user can act on. On success `depth[i]` is the longest way from
  // stage i to the sink.
  Status check(std::vector<int>& depth) const;
};

}  // namespace penstock::engine
