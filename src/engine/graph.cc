#include "engine/graph.h"

#include <set>
#include <string>

namespace penstock::engine {

namespace {

Error wrong(const std::string& text) {
  return Error(Code::invalid_argument, text);
}

constexpr int kMost = 1 << 20;  // of anything that is counted here

std::string quoted(const StageSpec& stage) {
  return "stage '" + stage.name + "'";
}

Status check_stage(const StageSpec& stage) {
  const StageOptions& options = stage.options;
  if (stage.name.empty()) return wrong("a stage has an empty name; give each stage a name");
  const int concurrency = options.concurrency.value_or(1);
  if (concurrency < 1) {
    return wrong(quoted(stage) + ": concurrency is " + std::to_string(concurrency) +
                 "; it must be 1 or more");
  }
  const int queue_size = options.queue_size.value_or(1);
  if (queue_size < 1) {
    return wrong(quoted(stage) + ": queue_size is " + std::to_string(queue_size) +
                 "; it must be 1 or more");
  }
  if (concurrency > kMost || queue_size > kMost) {
    return wrong(quoted(stage) + ": concurrency and queue_size may be at most " +
                 std::to_string(kMost));
  }
  if (dynamic_cast<const WorkerPool*>(options.lane.get()) != nullptr) {
    return wrong(quoted(stage) +
                 ": a WorkerPool is not a lane for a stage; give it to build as pool");
  }
  if (stage.kind == Kind::fill && options.lane != nullptr) {
    return wrong(quoted(stage) + ": batches are filled by the pipeline's workers; leave lane out");
  }
  if (concurrency > 1 && (stage.kind == Kind::source || stage.gathers)) {
    return wrong(quoted(stage) + ": concurrency is " + std::to_string(concurrency) +
                 ", but a source or an aggregator runs one task at a time; leave it out");
  }
  if (stage.kind == Kind::source && options.flush) {
    return wrong(quoted(stage) + ": a source knows its own end; leave flush out");
  }
  if (stage.paths < 1) {
    return wrong(quoted(stage) + ": paths is " + std::to_string(stage.paths) +
                 "; a router needs 1 or more");
  }
  const bool complete = stage.kind == Kind::fill ? stage.rows && stage.row : bool(stage.step);
  if (!complete)
    return wrong(quoted(stage) + ": its function is empty; give one that can be called");
  return {};
}

}  // namespace

Status GraphSpec::check(std::vector<int>& depth) const {
  if (mistake) return *mistake;
  const auto count = static_cast<StageId>(stages.size());
  bool has_source = false;
  for (const StageSpec& stage : stages) {
    if (Status status = check_stage(stage); !status.ok()) return status;
    has_source |= stage.kind == Kind::source;
  }
  if (!has_source) return wrong("the pipeline has no source; call add_source first");
  if (!sink_size) return wrong("the pipeline has no sink; call add_sink last");
  if (*sink_size < 1 || *sink_size > kMost) {
    return wrong("add_sink: buffer_size is " + std::to_string(*sink_size) + "; it must be 1 " +
                 (*sink_size < 1 ? "or more" : "to " + std::to_string(kMost)));
  }

  std::vector<bool> has_input(stages.size());
  std::vector<std::set<int>> used_ports(stages.size());
  for (const Edge& edge : edges) {
    const auto known = [&](StageId id) { return id >= 0 && id < count; };
    if (!known(edge.from.stage) || (edge.to != kSink && !known(edge.to))) {
      return wrong("connect: there is no stage with the number " +
                   std::to_string(known(edge.from.stage) ? edge.to : edge.from.stage) +
                   "; use the numbers that last() gave");
    }
    const StageSpec& from = stages[static_cast<std::size_t>(edge.from.stage)];
    if (edge.from.port < 0 || edge.from.port >= from.paths) {
      return wrong(quoted(from) + " has no output " + std::to_string(edge.from.port) + "; it has " +
                   std::to_string(from.paths));
    }
    if (!used_ports[static_cast<std::size_t>(edge.from.stage)].insert(edge.from.port).second) {
      return wrong(quoted(from) + " is read by two stages; use route to share its items out");
    }
    if (edge.to == kSink) continue;
    const StageSpec& to = stages[static_cast<std::size_t>(edge.to)];
    if (to.kind == Kind::source) return wrong(quoted(to) + " is a source and takes no input");
    has_input[static_cast<std::size_t>(edge.to)] = true;
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].kind != Kind::source && !has_input[i]) {
      return wrong(quoted(stages[i]) + " has no input; add a source before it or use from");
    }
    for (int port = 0; port < stages[i].paths; ++port) {
      if (used_ports[i].contains(port)) continue;
      const std::string which = stages[i].paths > 1 ? " path " + std::to_string(port) : "";
      return wrong(quoted(stages[i]) + which + " leads nowhere; attach a stage or the sink to it");
    }
  }

  // Longest ways to the sink. In a graph without cycles none is longer than the number of stages.
  depth.assign(stages.size(), 0);
  for (StageId round = 0; round <= count; ++round) {
    bool changed = false;
    for (const Edge& edge : edges) {
      const int beyond = edge.to == kSink ? 0 : depth[static_cast<std::size_t>(edge.to)] + 1;
      int& here = depth[static_cast<std::size_t>(edge.from.stage)];
      if (beyond <= here) continue;
      if (beyond > count) {
        return wrong(quoted(stages[static_cast<std::size_t>(edge.from.stage)]) +
                     " is part of a cycle; items must flow from a source to the sink");
      }
      here = beyond;
      changed = true;
    }
    if (!changed) break;
  }
  return {};
}

}  // namespace penstock::engine
