#include "data/row_work.h"

#include <algorithm>

#include "data/batch_size.h"

namespace penstock::data {

// The memory of a batch is set aside when it is admitted, and taken when its first row is worked
// on: what this core has used a moment ago is still in its cache, unless batches that only wait
// for their turn hold it. False: there is none, and the batch has failed.
bool RowWork::make_slots(Batch& batch) const {
  std::call_once(batch.slots_made, [&] {
    if (!batch.room) return;  // rows of a stream stand alone
    const std::size_t all = batch.room->left();
    for (const SlotArray& slot : plan_->slots) {
      std::vector<std::int64_t> shape{static_cast<std::int64_t>(batch.rows.rows)};
      shape.insert(shape.end(), slot.shape.begin(), slot.shape.end());
      Result<Tensor> made =
          Tensor::empty(*batch.room, slot.dtype, Dims(std::span<const std::int64_t>(shape)));
      if (!made) {
        batch.failure = no_memory_for_batch(batch.rows.rows, all);
        return;
      }
      batch.slots.push_back(*std::move(made));
    }
  });
  return !batch.failure;
}

void RowWork::read(Batch& batch, std::size_t first, std::size_t last) const {
  if (!make_slots(batch)) {
    for (std::size_t i = first; i < last; ++i)
      batch.work[batch.read_at(i)].state = RowState::removed;
    return;
  }
  if (is_over(batch)) {
    for (std::size_t i = first; i < last; ++i) pass_over(batch, batch.read_at(i));
    return;
  }
  const bool alone = plan_->order.width() != 1 || last - first == 1;
  if (alone || batch.places.empty() || !batch.fetched.empty()) {
    for (std::size_t i = first; i < last; ++i) steps(batch, batch.read_at(i), 0);
    return;
  }
  if (!plan_->placed.empty()) return read_placed(batch, first, last);
  std::vector<std::uint64_t> records;
  std::vector<Row*> into;
  std::vector<Status> outcomes;
  for (std::size_t run = first; run < last;) {
    const std::uint32_t leaf = batch.places[batch.read_at(run)].leaf;
    std::size_t end = run;
    records.clear(), into.clear();
    for (; end < last && batch.places[batch.read_at(end)].leaf == leaf; ++end) {
      records.push_back(batch.places[batch.read_at(end)].record);
      into.push_back(&batch.work[batch.read_at(end)].row);
    }
    outcomes.assign(records.size(), Status());
    plan_->sources[leaf]->read_many(records, *pool_, into, outcomes);
    for (std::size_t i = run; i < end; ++i) {
      const std::size_t row = batch.read_at(i);
      Status status = std::move(outcomes[i - run]);
      if (status.ok() && leaf < plan_->own_steps.size()) {
        status = run_steps(plan_->own_steps[leaf], {key_, batch.position(row), *pool_},
                           batch.work[row].row);
      }
      after_reading(batch, row, 0, std::move(status));
    }
    run = end;
  }
}

void RowWork::read_placed(Batch& batch, std::size_t first, std::size_t last) const {
  std::vector<std::uint64_t> records;
  std::vector<std::uint32_t> slots;
  std::vector<Row*> into;
  std::vector<formats::Placement> placements;
  records.reserve(last - first), slots.reserve(last - first);
  for (std::size_t i = first; i < last; ++i) {
    const std::size_t row = batch.read_at(i);
    records.push_back(batch.places[row].record);
    slots.push_back(static_cast<std::uint32_t>(row));
    if (!plan_->only_placed) into.push_back(&batch.work[row].row);
  }
  for (const PlacedField& field : plan_->placed) {
    placements.push_back({field.field, batch.slots[field.array].raw()});
  }
  std::vector<formats::Failure> failures;
  plan_->sources[0]->read_placed(records, slots, placements, *pool_, into, failures);
  std::vector<bool> failed(records.size(), false);
  for (formats::Failure& one : failures) {
    const std::size_t row = batch.read_at(first + one.index);
    if (failed[one.index]) continue;
    failed[one.index] = true;
    after_reading(batch, row, 0, std::move(one.error));
  }
  if (plan_->segments[0].steps.empty()) return;
  for (std::size_t i = first; i < last; ++i) {
    if (!failed[i - first]) after_reading(batch, batch.read_at(i), 0, {});
  }
}

void RowWork::steps(Batch& batch, std::size_t row, std::size_t number) const {
  BatchRow& one = batch.work[row];
  if (one.state != RowState::open) return;
  Status status;
  if (number == 0) {
    if (is_over(batch)) return pass_over(batch, row);
    status = read_row(*plan_, task(batch, row), places(batch, row), fetched(batch, row), one.row);
  }
  after_reading(batch, row, number, std::move(status));
}

void RowWork::after_reading(Batch& batch, std::size_t row, std::size_t number,
                            Status status) const {
  BatchRow& one = batch.work[row];
  if (!status.ok() && status.error().code() == Code::io) refused(batch, status.error());
  if (status.ok()) status = run_steps(plan_->segments[number].steps, task(batch, row), one.row);
  if (status.ok()) return;
  fail(batch, row, std::move(status).error());
  if (!plan_->calls()) replace(batch, row);
}

void RowWork::call(Batch& batch, std::size_t row, std::size_t number) const {
  BatchRow& one = batch.work[row];
  if (one.state != RowState::open) return;
  settle(batch, row, plan_->segments[number].call(call_task(batch, row), one.row));
}

void RowWork::replace(Batch& batch, std::size_t row, const Collator::Fits& fits) const {
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
    if (!stays || (*stays && fits && !fits(other))) continue;
    one.row = std::move(other);
    one.state = *stays ? RowState::open : RowState::removed;
    return;  // the error stays: it is told that the row was replaced, and why
  }
  one.error->add_words("; the " + std::to_string(LoaderPlan::kMostDraws) +
                       " samples that were tried in its place cannot be had either");
}

void RowWork::refused(const Batch& batch, const Error& error) const {
  const std::lock_guard hold(mutex_);
  if (!refusal_) refusal_ = error;
  refused_at_ = std::min<std::uint64_t>(refused_at_, batch.number);
}

// The batch that was refused has its error. Those behind it are not delivered; should one be, it
// would not look as if rows were missing on purpose.
void RowWork::pass_over(Batch& batch, std::size_t row) const {
  if (batch.number == refused_at_) {
    batch.work[row].state = RowState::removed;
    return;
  }
  const std::lock_guard hold(mutex_);
  fail(batch, row, *refusal_);
}

std::string RowWork::name(const Batch& batch, std::size_t row) const {
  if (batch.places.empty()) {  // of a stream; those of a tar have a key
    const Value* key = batch.work[row].row.find("__key__");
    const Text* text = key == nullptr ? nullptr : std::get_if<Text>(key);
    return "item " + std::to_string(batch.position(row)) +
           (text == nullptr ? "" : " ('" + std::string(text->text()) + "')");
  }
  return plan_->name_of(places(batch, row));
}

void RowWork::settle(Batch& batch, std::size_t row, Result<bool> stays) const {
  if (!stays) {
    fail(batch, row, std::move(stays).error());
  } else if (!*stays) {
    batch.work[row].state = RowState::removed;
  }
}

void RowWork::fail(Batch& batch, std::size_t row, Error error) const {
  BatchRow& one = batch.work[row];
  one.state = RowState::failed;
  one.error = std::make_unique<Error>(std::move(error).of_sample(name(batch, row)));
  one.row.fields.clear();
}

}  // namespace penstock::data
