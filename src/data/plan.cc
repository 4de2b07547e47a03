#include "data/plan.h"

#include <algorithm>
#include <cstring>

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
  constexpr std::uint64_t kSmall = 16 * 1024;
  for (const SourcePtr& source : plan.sources) heavy = heavy || source->mean_bytes() > kSmall;
  if (!heavy && plan.only_placed) return kMostPlaced;
  return heavy ? 1 : 32;
}

namespace {

// Fields that belong in the batch are put there, and leave the row.
Status place(const LoaderPlan& plan, const RowTask& task, Row& row) {
  for (const PlacedField& field : plan.placed) {
    const auto found = std::find_if(row.fields.begin(), row.fields.end(),
                                    [&](const RowField& one) { return one.name == field.name; });
    const Bytes* bytes = found == row.fields.end() ? nullptr : std::get_if<Bytes>(&found->value);
    if (bytes == nullptr || field.array >= task.slots.size()) {
      return Error(Code::no_field, "the sample has no field '" + field.name + "'");
    }
    const Tensor& slots = task.slots[field.array];
    const std::size_t size = slots.nbytes() / static_cast<std::size_t>(slots.shape()[0]);
    if (bytes->bytes.size() != size) {
      return Error(Code::corrupt, "field '" + field.name + "' has another size here");
    }
    if (size > 0) std::memcpy(slots.raw() + task.slot * size, bytes->bytes.data(), size);
    row.fields.erase(found);
  }
  return {};
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
  return plan.placed.empty() ? Status() : place(plan, task, row);
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
