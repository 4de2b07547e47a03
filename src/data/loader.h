// The loader: batches of a plan, in order, filled in place by the engine's workers.
//
//   admit -> rows -> collate -> the consumer
//   admit -> rows -> [call -> steps]* -> gather -> collate -> the consumer
//
// `admit` opens one batch after the other as memory allows: it finds out which records belong to it
// and sets aside room for its slots and its encoded bytes. `rows` reads each record and carries it
// through the native steps, into its slot where that is known. A call into another language (a
// Python function) splits the chain: from there on rows travel one by one, calls run on a lane of
// their own, and `gather` waits for a batch's last row. `collate` closes holes and makes columns.
// Errors stay with their rows: the consumer judges them when the batch is due.
//
// Thread safety: a LoaderPlan is immutable; see pipeline.h for the rest.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "data/batch.h"
#include "data/collate.h"
#include "data/order.h"
#include "data/ranks.h"
#include "data/source.h"
#include "data/steps.h"
#include "penstock/pipeline.h"

namespace penstock::data {

// An array of the batch into which steps write: rows of this type and shape.
struct SlotArray {
  DType dtype = DType::uint8;
  Dims shape;
};

// What a call knows besides the row.
struct CallTask {
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;
  std::span<const Place> places;
};

// Work on a row by another language. True: the row stays; false: it is removed.
using RowCall = std::function<Result<bool>(const CallTask& task, Row& row)>;

struct Segment {
  std::vector<StepPtr> steps;
  RowCall call;  // after the steps; empty in the last segment
  std::string call_name;
  int concurrency = 1;  // of the call
};

struct LoaderPlan {
  Order order;
  std::vector<SourcePtr> sources;               // by leaf number
  std::vector<std::vector<StepPtr>> own_steps;  // work on the records of one leaf; may be shorter
  std::vector<Segment> segments;                // at least one
  std::vector<SlotArray> slots;
  std::size_t row_bytes = 0;  // that steps are known to take for a row, beside slots
  std::size_t together = 1;   // rows that are read at once, by one worker
  std::uint64_t seed = 0;
  bool replace = false;  // rows that fail are replaced by others
  static constexpr std::uint32_t kMostDraws = 8;

  bool calls() const noexcept { return segments.size() > 1; }
  std::string name_of(std::span<const Place> places) const;
};
using PlanPtr = std::shared_ptr<const LoaderPlan>;

// Reads the row at `places`: the records, each carried through the steps of its leaf, side by side.
Status read_row(const LoaderPlan& plan, const RowTask& task, std::span<const Place> places,
                Row& row);

// Everything for one row that stands alone, in this thread. Nothing: the row was removed.
Result<std::optional<Row>> run_row(const LoaderPlan& plan, std::uint64_t epoch,
                                   std::uint64_t position, BufferPool& pool);

struct RunOptions {
  Share share;
  std::uint64_t epoch = 0;
  std::uint64_t start = 0;  // position of the global order
  int prefetch = 2;
  int threads = 1;                      // native workers, for steps between calls
  std::shared_ptr<BufferPool> budget;   // for slots, and what else is accounted for
  std::shared_ptr<BufferPool> encoded;  // for what is read: bounded by what was set aside
  std::shared_ptr<Collator> collator;   // keeps the schema from run to run
  std::shared_ptr<Lane> calls;          // where calls run
  // Hands out batches whose rows are there already, in place of `admit`; runs on the lane for
  // calls.
  StepFunction stream;
  std::function<Status(Batch&)> on_batch;  // on that lane, batches in order; may be empty
};

// Adds all stages, the sink included. Items are BatchPtr.
void add_stages(PipelineBuilder& builder, PlanPtr plan, const RunOptions& options);

}  // namespace penstock::data
