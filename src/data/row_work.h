// RowWork: the work on rows of batches, as the stages of a run share it out. Errors stay with their
// rows.
//
// What the system refuses (Code::io) ends the run when its batch is due. So once that is known of a
// row, the other rows of its batch are not read any more, nor those of later batches: else each of
// them would wait for a server that does not answer.
//
// Thread safety: distinct rows may be worked on at once.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "data/loader.h"

namespace penstock::data {

class RowWork {
 public:
  RowWork(PlanPtr plan, const RunOptions& options)
      : plan_(std::move(plan)), pool_(options.encoded), key_(plan_->seed, options.epoch) {}

  // The first segment of several rows, but for its call: those from `first` to `last - 1` in the
  // order of reading. Those of one source are read together.
  void read(Batch& batch, std::size_t first, std::size_t last) const;
  // Segment `number`, but for its call; from the first one on the row is read.
  void steps(Batch& batch, std::size_t row, std::size_t number) const;
  // The call of that segment.
  void call(Batch& batch, std::size_t row, std::size_t number) const;
  // A row that has failed gives way to another one, which takes all the steps and, if that is
  // asked, fits. What the system refuses is not the sample's fault.
  void replace(Batch& batch, std::size_t row, const Collator::Fits& fits = {}) const;

  std::string name(const Batch& batch, std::size_t row) const;  // for messages

 private:
  std::span<const Place> places(const Batch& batch, std::size_t row) const {
    if (batch.places.empty()) return {};
    const std::size_t width = plan_->order.width();
    return std::span(batch.places).subspan(row * width, width);
  }
  std::span<const Fetched> fetched(const Batch& batch, std::size_t row) const {
    if (batch.fetched.empty()) return {};
    const std::size_t width = plan_->order.width();
    return std::span(batch.fetched).subspan(row * width, width);
  }
  RowTask task(const Batch& batch, std::size_t row) const {
    return {key_, batch.position(row), *pool_, batch.slots, row};
  }
  CallTask call_task(const Batch& batch, std::size_t row) const {
    return {batch.epoch, batch.position(row), places(batch, row)};
  }
  bool make_slots(Batch& batch) const;
  void read_placed(Batch& batch, std::size_t first, std::size_t last) const;
  void after_reading(Batch& batch, std::size_t row, std::size_t number, Status status) const;
  void refused(const Batch& batch, const Error& error) const;
  bool is_over(const Batch& batch) const noexcept { return batch.number >= refused_at_; }
  void pass_over(Batch& batch, std::size_t row) const;
  void settle(Batch& batch, std::size_t row, Result<bool> stays) const;
  void fail(Batch& batch, std::size_t row, Error error) const;

  PlanPtr plan_;
  std::shared_ptr<BufferPool> pool_;
  RandomKey key_;
  mutable std::atomic<std::uint64_t> refused_at_ = ~std::uint64_t(0);  // the batch
  mutable std::mutex mutex_;
  mutable std::optional<Error> refusal_;  // set before refused_at_
};

}  // namespace penstock::data
