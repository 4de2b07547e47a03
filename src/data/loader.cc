#include "data/loader.h"

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

namespace {

Status run_steps(std::span<const StepPtr> steps, const RowTask& task, Row& row) {
  for (const StepPtr& step : steps) {
    if (Status status = step->run(task, row); !status) return status;
  }
  return {};
}

}  // namespace

Status read_row(const LoaderPlan& plan, const RowTask& task, std::span<const Place> places,
                Row& row) {
  if (places.empty()) return {};  // rows of a stream come with their fields
  row.fields.clear();
  const RowTask alone{task.key, task.position, task.pool};
  for (const Place& place : places) {
    if (place.leaf == Place::kNone) continue;
    Row record;
    Row& into = row.fields.empty() ? row : record;
    Status status = plan.sources[place.leaf]->read(place.record, task.pool, into);
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

namespace {

// The whole chain. False: the row was removed.
Result<bool> run_all(const LoaderPlan& plan, const RowTask& task, const CallTask& call, Row& row) {
  if (Status status = read_row(plan, task, call.places, row); !status) {
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

// Opens batches, in order, as the budget allows.
class Admission {
 public:
  Admission(PlanPtr plan, const RunOptions& options)
      : plan_(std::move(plan)),
        options_(options),
        rounds_(options.share, plan_->order.length(), options.start),
        batches_(rounds_.batches()) {
    for (const SlotArray& slot : plan_->slots) {
      slot_bytes_ += size_of(slot.dtype) * static_cast<std::size_t>(elements(slot.shape));
    }
    listening_ = std::make_shared<RoomListener>();
  }

  Step operator()(Context& ctx) {
    if (batches_ && next_ >= *batches_) return Step::done;
    // Listen first: room that comes between a failed try and the listening would be missed.
    if (!heard_) {
      heard_ = true;
      *listening_ = options_.budget->on_room([waker = ctx.waker()] { waker.wake(); });
    }
    if (!waiting_) waiting_ = open();
    auto room = options_.budget->try_reserve(std::max<std::size_t>(bytes_, 1));
    if (!room) return Step::blocked;
    BatchPtr batch = std::move(waiting_);
    for (const SlotArray& slot : plan_->slots) {
      std::vector<std::int64_t> shape{static_cast<std::int64_t>(batch->rows.rows)};
      shape.insert(shape.end(), slot.shape.begin(), slot.shape.end());
      Result<Tensor> made =
          Tensor::empty(*room, slot.dtype, Dims(std::span<const std::int64_t>(shape)));
      if (!made) return ctx.fail(std::move(made).error(), true);
      batch->slots.push_back(*std::move(made));
    }
    batch->room = std::move(room);
    ++next_;
    ctx.emit(Item::of(std::move(batch)));
    return Step::again;
  }

 private:
  static std::int64_t elements(const Dims& shape) {
    std::int64_t all = 1;
    for (const std::int64_t extent : shape) all *= extent;
    return all;
  }

  BatchPtr open() {
    auto batch = std::make_shared<Batch>();
    batch->number = next_;
    batch->epoch = options_.epoch;
    batch->rows = rounds_.at(next_);
    batch->length = plan_->order.length().value_or(0);
    const std::size_t width = plan_->order.width();
    batch->places.resize(batch->rows.rows * width);
    batch->work.resize(batch->rows.rows);
    const std::span<Place> places = batch->places;
    plan_->order.locate(batch->epoch, batch->rows.first, batch->rows.stride,
                        places.first(batch->rows.valid * width));
    for (std::size_t row = batch->rows.valid; row < batch->rows.rows; ++row) {
      plan_->order.locate(batch->epoch, batch->position(row), places.subspan(row * width, width));
    }
    bytes_ = (slot_bytes_ + plan_->row_bytes + options_.collator->row_bytes()) * batch->rows.rows;
    for (const Place& place : places) {
      if (place.leaf == Place::kNone) continue;
      bytes_ += static_cast<std::size_t>(plan_->sources[place.leaf]->bytes(place.record));
    }
    return batch;
  }

  PlanPtr plan_;
  RunOptions options_;
  Rounds rounds_;
  std::optional<std::uint64_t> batches_;
  std::size_t slot_bytes_ = 0;  // per row
  std::uint64_t next_ = 0;
  bool heard_ = false;
  std::shared_ptr<RoomListener> listening_;
  BatchPtr waiting_;       // for room
  std::size_t bytes_ = 0;  // that it needs
};

// Work on the rows of batches; shared by the stages of a run.
class Rows {
 public:
  Rows(PlanPtr plan, const RunOptions& options)
      : plan_(std::move(plan)), pool_(options.encoded), key_(plan_->seed, options.epoch) {}

  // Segment `number`, but for its call.
  void steps(Batch& batch, std::size_t row, std::size_t number) const {
    BatchRow& one = batch.work[row];
    if (one.state != RowState::open) return;
    Status status;
    if (number == 0) status = read_row(*plan_, task(batch, row), places(batch, row), one.row);
    after_reading(batch, row, number, std::move(status));
  }

  // The first segment of several rows. Those of one source are read together.
  void first_steps(Batch& batch, std::size_t first, std::size_t last) const {
    if (batch.places.empty() || plan_->order.width() != 1 || last - first == 1) {
      for (std::size_t row = first; row < last; ++row) steps(batch, row, 0);
      return;
    }
    std::vector<std::uint64_t> records;
    std::vector<Row*> into;
    std::vector<Status> outcomes;
    for (std::size_t run = first; run < last;) {
      const std::uint32_t leaf = batch.places[run].leaf;
      std::size_t end = run;
      records.clear(), into.clear();
      for (; end < last && batch.places[end].leaf == leaf; ++end) {
        records.push_back(batch.places[end].record);
        into.push_back(&batch.work[end].row);
      }
      outcomes.assign(records.size(), Status());
      plan_->sources[leaf]->read_many(records, *pool_, into, outcomes);
      for (std::size_t row = run; row < end; ++row) {
        Status status = std::move(outcomes[row - run]);
        if (status.ok() && leaf < plan_->own_steps.size()) {
          status = run_steps(plan_->own_steps[leaf], {key_, batch.position(row), *pool_},
                             batch.work[row].row);
        }
        after_reading(batch, row, 0, std::move(status));
      }
      run = end;
    }
  }

  void after_reading(Batch& batch, std::size_t row, std::size_t number, Status status) const {
    BatchRow& one = batch.work[row];
    if (status.ok()) status = run_steps(plan_->segments[number].steps, task(batch, row), one.row);
    if (status.ok()) return;
    fail(batch, row, std::move(status).error());
    if (!plan_->calls()) replace(batch, row);
  }

  void call(Batch& batch, std::size_t row, std::size_t number) const {
    BatchRow& one = batch.work[row];
    if (one.state != RowState::open) return;
    settle(batch, row, plan_->segments[number].call(call_task(batch, row), one.row));
  }

  // A row that has failed gives way to another one, which takes all the steps. What the system
  // refuses is not the sample's fault.
  void replace(Batch& batch, std::size_t row) const {
    BatchRow& one = batch.work[row];
    if (!plan_->replace || one.state != RowState::failed || one.error->code() == Code::io) return;
    if (batch.places.empty()) return;  // a stream has no other rows
    std::vector<Place> others(plan_->order.width());
    for (std::uint32_t k = 0; k < LoaderPlan::kMostDraws; ++k) {
      plan_->order.substitute(batch.epoch, batch.position(row), plan_->seed, k, others);
      Row other;
      CallTask call = call_task(batch, row);
      call.places = others;
      const Result<bool> stays = run_all(*plan_, task(batch, row), call, other);
      if (!stays) continue;
      one.row = std::move(other);
      one.state = *stays ? RowState::open : RowState::removed;
      one.error.reset();
      return;
    }
  }

  std::string name(const Batch& batch, std::size_t row) const {
    if (batch.places.empty()) return "item " + std::to_string(batch.position(row));
    return plan_->name_of(places(batch, row));
  }

 private:
  std::span<const Place> places(const Batch& batch, std::size_t row) const {
    if (batch.places.empty()) return {};
    const std::size_t width = plan_->order.width();
    return std::span(batch.places).subspan(row * width, width);
  }
  RowTask task(const Batch& batch, std::size_t row) const {
    return {key_, batch.position(row), *pool_, batch.slots, row};
  }
  CallTask call_task(const Batch& batch, std::size_t row) const {
    return {batch.epoch, batch.position(row), places(batch, row)};
  }
  void settle(Batch& batch, std::size_t row, Result<bool> stays) const {
    if (!stays) {
      fail(batch, row, std::move(stays).error());
    } else if (!*stays) {
      batch.work[row].state = RowState::removed;
    }
  }
  void fail(Batch& batch, std::size_t row, Error error) const {
    BatchRow& one = batch.work[row];
    one.state = RowState::failed;
    one.error = std::move(error).of_sample(name(batch, row));
    one.row.fields.clear();
  }

  PlanPtr plan_;
  std::shared_ptr<BufferPool> pool_;
  RandomKey key_;
};

}  // namespace

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

namespace {

// Neighbouring rows of a batch on their way through calls. Small enough to travel inside an Item.
struct SomeRows {
  BatchPtr batch;
  std::uint32_t first = 0, count = 0;
};

// How many rows travel together: as many as can be without a caller going idle for it.
std::size_t rows_together(std::size_t rows, int concurrency) {
  return std::clamp<std::size_t>(rows / (4 * static_cast<std::size_t>(concurrency)), 1, 32);
}

using RowWork = std::function<void(Batch&, std::size_t)>;

void add_row_stage(PipelineBuilder& builder, std::string name, int concurrency,
                   std::shared_ptr<Lane> lane, RowWork work) {
  builder.pipe(std::move(name),
               [work = std::move(work)](Context& ctx) {
                 SomeRows* some = ctx.item().get<SomeRows>();
                 for (std::uint32_t i = 0; i < some->count; ++i) {
                   if (ctx.stopping()) return Step::done;
                   work(*some->batch, some->first + i);
                 }
                 ctx.emit(std::move(ctx.item()));
                 return Step::done;
               },
               {.concurrency = concurrency,
                .order = penstock::Order::input,
                .queue_size = 4 + 2 * concurrency,
                .lane = std::move(lane)});
}

// The calls of a plan and the steps between them.
void add_call_stages(PipelineBuilder& builder, const LoaderPlan& plan, const RunOptions& options,
                     const std::shared_ptr<const Rows>& rows) {
  int most = 1;
  for (const Segment& segment : plan.segments) {
    if (segment.call) most = std::max(most, segment.concurrency);
  }
  builder.stream("rows of batches",
                 [most](BatchPtr batch) {
                   // Counted now: once the last row is out the batch is no longer ours to look at.
                   return [batch, rows = batch->work.size(),
                           together = rows_together(batch->work.size(), most),
                           next = std::size_t{0}]() mutable -> std::optional<SomeRows> {
                     if (next == rows) return std::nullopt;
                     const std::size_t first = next;
                     next = std::min(rows, next + together);
                     return SomeRows{batch, static_cast<std::uint32_t>(first),
                                     static_cast<std::uint32_t>(next - first)};
                   };
                 },
                 {.queue_size = 4 + 2 * most});
  const std::size_t last = plan.segments.size();
  for (std::size_t i = 0; i < last; ++i) {
    const Segment& segment = plan.segments[i];
    if (i > 0 && !segment.steps.empty()) {
      add_row_stage(builder, "steps " + std::to_string(i), std::max(1, options.threads), {},
                    [rows, i](Batch& batch, std::size_t row) { rows->steps(batch, row, i); });
    }
    if (!segment.call) continue;
    // Calls that follow one another, and may run as often at once, are one stage.
    std::size_t end = i + 1;
    std::string name = segment.call_name;
    while (end < last && plan.segments[end].call && plan.segments[end].steps.empty() &&
           plan.segments[end].concurrency == segment.concurrency) {
      name += ", " + plan.segments[end++].call_name;
    }
    add_row_stage(builder, std::move(name), segment.concurrency, options.calls,
                  [rows, i, end](Batch& batch, std::size_t row) {
                    for (std::size_t k = i; k < end; ++k) rows->call(batch, row, k);
                  });
    i = end - 1;
  }
  if (plan.replace) {
    add_row_stage(builder, "replace", 1, options.calls,
                  [rows](Batch& batch, std::size_t row) { rows->replace(batch, row); });
  }
  // Rows come in order: the last one of a batch is the last to arrive.
  builder.pipe("gather",
               [](SomeRows some) -> std::optional<BatchPtr> {
                 if (some.first + some.count < some.batch->work.size()) return std::nullopt;
                 return std::move(some.batch);
               },
               {.queue_size = 1});
}

}  // namespace

void add_stages(PipelineBuilder& builder, PlanPtr plan, const RunOptions& options) {
  const auto rows = std::make_shared<const Rows>(plan, options);
  if (options.stream) {
    builder.add_source("stream", options.stream, {.queue_size = 1, .lane = options.calls});
  } else {
    // Step functions are copied, batches are not: hence the pointer.
    const auto admission = std::make_shared<Admission>(plan, options);
    builder.add_source("admit", [admission](Context& ctx) { return (*admission)(ctx); },
                       {.queue_size = 1});
  }
  const std::size_t together = std::max<std::size_t>(plan->together, 1);
  builder.fill<BatchPtr>(
      "rows",
      [together](const BatchPtr& batch) { return (batch->work.size() + together - 1) / together; },
      [rows, together](BatchPtr& batch, std::size_t part) -> Status {
        const std::size_t first = part * together;
        rows->first_steps(*batch, first, std::min(first + together, batch->work.size()));
        return {};
      },
      {.queue_size = 1});
  if (plan->calls()) add_call_stages(builder, *plan, options, rows);
  builder.pipe("collate",
               [rows, collator = options.collator](BatchPtr batch) {
                 collator->finish(*batch, [&](std::size_t row) { return rows->name(*batch, row); });
                 return batch;
               },
               {.queue_size = 1});
  if (options.on_batch) {
    builder.pipe("batch",
                 [on_batch = options.on_batch](BatchPtr batch) {
                   if (batch->kept > 0 && !batch->failure) {
                     Status status = on_batch(*batch);
                     if (!status) batch->failure = std::move(status).error();
                   }
                   return batch;
                 },
                 {.queue_size = 1, .lane = options.calls});
  }
  builder.add_sink(std::max(1, options.prefetch));
}

}  // namespace penstock::data
