#include "task_lane.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "python_value.h"

namespace nb = nanobind;

namespace penstock::bindings {

using What = engine::Claim::What;

TaskLane::TaskLane() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

TaskLane::~TaskLane() {
  close(descriptor_);
}

void TaskLane::wake() noexcept {
  idle_.store(false, std::memory_order_seq_cst);  // one signal is enough
  const std::uint64_t one = 1;
  (void)!write(descriptor_, &one, sizeof(one));
}

void TaskLane::acknowledge() noexcept {
  std::uint64_t count;
  (void)!read(descriptor_, &count, sizeof(count));
}

void TaskLane::serve(const std::shared_ptr<engine::Engine>& engine) {
  engine_ = engine;
  number_ = engine->lane_number(*this);
}

void TaskLane::flush() {
  flush_is_coming_ = false;
  if (const auto engine = engine_.lock()) engine->carry_out(chores_);
}

void TaskLane::fail(nb::object exception) {
  const Error error = error_of_exception(exception.release().ptr(), nullptr);
  if (const auto engine = engine_.lock()) engine->fail(number_, error, chores_);
}

bool TaskLane::exchange(engine::Claim& claim, bool more, engine::Chores& chores) {
  const auto engine = engine_.lock();
  if (engine == nullptr) {
    claim.clear();
    return false;
  }
  if (claim.what != What::nothing) claim.in[0].reset();
  return engine->exchange(number_, claim, more, chores);
}

void TaskLane::when_due(nb::object arrange) {
  arrange_ = arrange.is_none() ? nb::object() : std::move(arrange);
}

void TaskLane::see_to_flush() {
  if (flush_is_coming_ || chores_.empty()) return;
  if (!arrange_.is_valid()) return flush();
  flush_is_coming_ = true;
  arrange_();
}

LoopSlot::LoopSlot(std::shared_ptr<TaskLane> lane, nb::object nothing, nb::object epoch_end,
                   nb::object end)
    : lane_(std::move(lane)),
      claim_(std::make_unique<engine::Claim>()),
      nothing_(std::move(nothing)),
      epoch_end_(std::move(epoch_end)),
      end_(std::move(end)) {}

LoopSlot::~LoopSlot() {
  if (claim_ == nullptr || claim_->what == What::nothing) return;
  claim_->errors.push_back(
      {0, Error(Code::internal, "the task was abandoned by the event loop"), false});
  // On whichever thread dropped the coroutine: the lane's own list of chores is not touched.
  engine::Chores chores;
  (void)lane_->exchange(*claim_, false, chores);
  if (const auto engine = lane_->engine_.lock()) engine->carry_out(chores);
}

nb::object LoopSlot::exchange(bool more) {
  const bool found = lane_->exchange(*claim_, more, lane_->chores_);
  lane_->see_to_flush();
  if (!found) return nothing_;
  if (claim_->what == What::flush) return claim_->mark == engine::Mark::end ? end_ : epoch_end_;
  Item& held = claim_->task ? claim_->task->item : claim_->in[0];
  if (held.empty()) return nb::none();  // a source
  PyObject* object = to_python(held);
  if (object == nullptr) throw nb::python_error();
  return nb::steal(object);
}

nb::object LoopSlot::claim() {
  return exchange(true);
}

bool LoopSlot::resumed() const {
  return claim_->what == What::resumed;
}

nb::object LoopSlot::finish(nb::object result) {
  return finish_on(std::move(result), 0);
}

nb::object LoopSlot::finish_on(nb::object result, int path) {
  if (!result.is_none() || claim_->what == What::poll) {
    claim_->out.push_back({{item_of(result.release().ptr()), path}, 0});
  }
  return exchange(true);
}

nb::object LoopSlot::pass_on(nb::object result) {
  claim_->uncounted = true;
  return finish(std::move(result));
}

nb::object LoopSlot::fail(nb::object exception, nb::object input, bool fatal, bool silent) {
  PyObject* about = input.is_none() ? nullptr : input.ptr();
  claim_->errors.push_back(
      {0, error_of_exception(exception.release().ptr(), about), fatal, silent});
  return exchange(true);
}

nb::object LoopSlot::again(nb::object output, nb::object kept) {
  auto parked = claim_->task ? claim_->task : std::make_shared<engine::ParkedTask>();
  parked->engine = lane_->engine_;
  parked->stage = claim_->stage;
  parked->item = item_of(kept.release().ptr());
  if (!output.is_none()) claim_->out.push_back({{item_of(output.release().ptr()), 0}, 0});
  claim_->held.push_back({0, std::move(parked), false});
  claim_->steps++;
  return exchange(true);
}

nb::object LoopSlot::end_epoch() {
  claim_->epoch_end = true;
  return exchange(true);
}

void LoopSlot::end_source() {
  claim_->source_done = true;
  (void)exchange(false);
}

void LoopSlot::abandon() {
  if (claim_->what == What::nothing) return;
  claim_->uncounted = true;
  (void)exchange(false);
}

}  // namespace penstock::bindings
