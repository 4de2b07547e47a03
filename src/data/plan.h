// LoaderPlan: everything that a batch depends on but for which rows it has. Also how one row is
// made of it, from its records to its last step.
//
// Thread safety: immutable; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/order.h"
#include "data/row.h"
#include "data/source.h"
#include "data/steps.h"

namespace penstock::data {

// An array of the batch into which steps write: rows of this type and shape.
struct SlotArray {
  DType dtype = DType::uint8;
  Dims shape;
};

// A field of the only source whose values go from the record straight into the batch: no row ever
// holds them.
struct PlacedField {
  std::string name;       // in the records
  std::size_t field = 0;  // its number there
  std::size_t array = 0;  // the slot array
  std::string column;     // its name in the batch
  std::size_t at = 0;     // and its place among the columns
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
  bool replace = false;                  // rows that fail are replaced by others
  std::vector<PlacedField> placed = {};  // if there is one source; it has them placeable()
  bool only_placed = false;              // there are no other fields
  static constexpr std::uint32_t kMostDraws = 8;

  bool calls() const noexcept { return segments.size() > 1; }
  std::string name_of(std::span<const Place> places) const;
};
using PlanPtr = std::shared_ptr<const LoaderPlan>;

// How many rows one worker reads at once: records that little is done with go in groups.
std::size_t rows_together(const LoaderPlan& plan, bool heavy);

// How many at most, if their fields are only placed.
inline constexpr std::size_t kMostPlaced = 1024;

// Reads the row at `places`: the records, each carried through the steps of its leaf, side by side.
// `fetched` has one for each place, or none.
Status read_row(const LoaderPlan& plan, const RowTask& task, std::span<const Place> places,
                std::span<const Fetched> fetched, Row& row);

// Everything for one row that stands alone, in this thread. Nothing: the row was removed.
Result<std::optional<Row>> run_row(const LoaderPlan& plan, std::uint64_t epoch,
                                   std::uint64_t position, BufferPool& pool);

// The whole chain, calls included, for a row at these places. False: the row was removed.
Result<bool> run_all(const LoaderPlan& plan, const RowTask& task, const CallTask& call, Row& row);

Status run_steps(std::span<const StepPtr> steps, const RowTask& task, Row& row);

}  // namespace penstock::data
