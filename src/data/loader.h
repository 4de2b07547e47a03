// The loader: batches of a plan, in order, filled in place by the engine's workers.
//
//   admit -> read -> collate -> the consumer
//   admit -> read -> [call -> steps]* -> gather -> collate -> the consumer
//
// `admit` opens one batch after the other as memory allows: it finds out which records belong to it
// and sets aside room for its slots and its encoded bytes. `read` reads each record and carries it
// through the native steps, into its slot where that is known; both are called by what they do. A
// call into another language (a Python function) splits the chain: from there on rows travel one by
// one, calls run on a lane of their own, and `gather` waits for a batch's last row. `collate`
// closes holes and makes columns. Errors stay with their rows: the consumer judges them when the
// batch is due.
//
// Thread safety: see pipeline.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "data/batch.h"
#include "data/collate.h"
#include "data/plan.h"
#include "data/ranks.h"
#include "penstock/pipeline.h"

namespace penstock::data {

// Time in which no batch could be begun because memory was spent. Written by `admit`, read by any
// thread.
class MemoryWait {
 public:
  void begin(std::int64_t now) noexcept {
    if (since_ == 0) since_ = now;
  }
  void end(std::int64_t now) noexcept {
    if (since_ == 0) return;
    total_ += now - since_;
    since_ = 0;
  }
  std::int64_t nanoseconds(std::int64_t now) const noexcept {
    const std::int64_t since = since_;
    return total_ + (since == 0 ? 0 : now - since);
  }

 private:
  std::atomic<std::int64_t> total_{0}, since_{0};
};

// What went through the stages of a run. Read by any thread.
struct Traffic {
  // Rows that a stage is through with. It may take several as one task.
  struct Rows {
    explicit Rows(std::size_t place) : stage(place) {}
    const std::size_t stage;  // its place in the flow
    std::atomic<std::uint64_t> done{0};
  };
  std::atomic<std::uint64_t> read{0}, made{0};  // bytes of finished batches: encoded; columns
  std::deque<Rows> rows;                        // by add_stages: whose tasks are rows
};

struct RunOptions {
  Share share;
  std::uint64_t epoch = 0;
  std::uint64_t start = 0;  // position of the global order
  int prefetch = 2;
  int threads = 1;                          // native workers, for steps between calls
  std::shared_ptr<BufferPool> budget;       // for slots, and what else is accounted for
  std::shared_ptr<BufferPool> encoded;      // for what is read: bounded by what was set aside
  std::shared_ptr<MemoryWait> memory_wait;  // may be empty
  std::shared_ptr<Traffic> traffic;         // may be empty
  std::shared_ptr<Collator> collator;       // keeps the schema from run to run
  std::shared_ptr<Lane> calls;              // where calls run
  // Hands out batches whose rows are there already, in place of `admit`; runs on the lane for
  // calls.
  StepFunction stream;
  std::function<Status(Batch&)> on_batch;  // on that lane, batches in order; may be empty
};

// Adds all stages, the sink included. Items are BatchPtr.
void add_stages(PipelineBuilder& builder, PlanPtr plan, const RunOptions& options);

// Writes the traffic of such a run into the statistics of its stages: bytes, and what was measured
// of tasks as that of rows.
void add_traffic(PipelineStats& stats, const Traffic& traffic);

}  // namespace penstock::data
