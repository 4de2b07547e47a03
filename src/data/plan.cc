#include "data/plan.h"

#include <algorithm>

namespace penstock::data {

std::string LoaderPlan::name_of(std::span<const Place> places) const {
  std::string all;
  for (const Place& place : places) {
    if (place.leaf == Place::kNone) continue;
    all += (all.empty() ? "" : " + ") + sources[place.leaf]->name(place.record);
  }
  return all;
}

std::size_t rows_together(const LoaderPlan& plan, bool heavy) {
  // Records share a block, no larger than what a core still has in its cache when it comes again.
  constexpr std::uint64_t kReadBytes = 512 * 1024, kMostRead = 128, kPlacedBytes = 128 * 1024;
  if (heavy) return 1;
  std::uint64_t bytes = 1;
  for (const SourcePtr& source : plan.sources) bytes = std::max(bytes, source->mean_bytes());
  const std::uint64_t rows = plan.only_placed
                                 ? std::min<std::uint64_t>(kPlacedBytes / bytes, kMostPlaced)
                                 : std::min(kReadBytes / bytes, kMostRead);
  return static_cast<std::size_t>(std::max<std::uint64_t>(rows, 1));
}

namespace {

// The row of a plan that places fields: it has one source.
Status read_placed(const LoaderPlan& plan, const RowTask& task, std::uint64_t record, Row& row) {
  std::vector<formats::Placement> placements;
  for (const PlacedField& field : plan.placed) {
    if (field.array >= task.slots.size()) {
      return Error(Code::internal, "field '" + field.name + "' has no place in a batch");
    }
    placements.push_back({field.field, task.slots[field.array].raw()});
  }
  const auto slot = static_cast<std::uint32_t>(task.slot);
  Row* const into = &row;
  std::vector<formats::Failure> failures;
  plan.sources[0]->read_placed({&record, 1}, {&slot, 1}, placements, task.pool,
                               {&into, plan.only_placed ? 0U : 1U}, failures);
  return failures.empty() ? Status() : Status(std::move(failures[0].error));
}

}  // namespace

Status run_steps(std::span<const StepPtr> steps, const RowTask& task, Row& row) {
  for (const StepPtr& step : steps) {
    if (Status status = step->run(task, row); !status) return status;
  }
  return {};
}

Status read_row(const LoaderPlan& plan, const RowTask& task, std::span<const Place> places,
                std::span<const Fetched> fetched, Row& row) {
  if (places.empty()) return {};  // rows of a stream come with their fields
  row.fields.clear();
  if (!plan.placed.empty()) return read_placed(plan, task, places[0].record, row);
  const RowTask alone{task.key, task.position, task.pool};
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    if (place.leaf == Place::kNone) continue;
    Row record;
    Row& into = row.fields.empty() ? row : record;
    const Source& source = *plan.sources[place.leaf];
    Status status = fetched.empty() || fetched[i].fetch == nullptr
                        ? source.read(place.record, task.pool, into)
                        : source.read_fetched(place.record, fetched[i], task.pool, into);
    if (status.ok() && place.leaf < plan.own_steps.size()) {
      status = run_steps(plan.own_steps[place.leaf], alone, into);
    }
    if (!status.ok()) return status;
    for (RowField& field : record.fields) {
      if (row.find(field.name) != nullptr) {
        return Error(Code::invalid_argument, "zip: both samples have a field '" + field.name +
                                                 "'; rename it in one of them");
      }
      row.fields.push_back(std::move(field));
    }
  }
  return {};
}

Result<bool> run_all(const LoaderPlan& plan, const RowTask& task, const CallTask& call, Row& row) {
  if (Status status = read_row(plan, task, call.places, {}, row); !status) {
    return std::move(status).error();
  }
  for (const Segment& segment : plan.segments) {
    if (Status status = run_steps(segment.steps, task, row); !status)
      return std::move(status).error();
    if (!segment.call) continue;
    Result<bool> stays = segment.call(call, row);
    if (!stays || !*stays) return stays;
  }
  return true;
}

Result<std::optional<Row>> run_row(const LoaderPlan& plan, std::uint64_t epoch,
                                   std::uint64_t position, BufferPool& pool) {
  std::vector<Place> places(plan.order.width());
  plan.order.locate(epoch, position, places);
  Row row;
  Result<bool> stays =
      run_all(plan, {RandomKey(plan.seed, epoch), position, pool}, {epoch, position, places}, row);
  if (!stays) return std::move(stays).error().of_sample(plan.name_of(places));
  if (!*stays) return std::optional<Row>();
  return std::optional<Row>(std::move(row));
}

}  // namespace penstock::data
