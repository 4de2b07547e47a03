#include "task_lane.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "python_value.h"

namespace nb = nanobind;

namespace penstock::bindings {

LoopTask::LoopTask(std::shared_ptr<TaskLane> lane, std::unique_ptr<engine::Claim> claim)
    : lane_(std::move(lane)), claim_(std::move(claim)) {}

LoopTask::~LoopTask() {
  if (claim_ == nullptr) return;
  claim_->errors.push_back(
      {0, Error(Code::internal, "the task was abandoned by the event loop"), false});
  (void)lane_->exchange(std::move(claim_), false);
  lane_->flush();
}

nb::object LoopTask::item() {
  Item& held = claim_->task ? claim_->task->item : claim_->in[0];
  if (held.empty()) return nb::none();
  PyObject* object = to_python(held);
  if (object == nullptr) throw nb::python_error();
  return nb::steal(object);
}

bool LoopTask::resumed() const {
  return claim_->what == engine::Claim::What::resumed;
}

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

void TaskLane::serve(std::shared_ptr<engine::Engine> engine) {
  engine_ = std::move(engine);
  number_ = engine_->lane_number(*this);
}

void TaskLane::retire() {
  engine_.reset();
}

std::optional<LoopTask> TaskLane::exchange(std::unique_ptr<engine::Claim> claim, bool more) {
  if (engine_ == nullptr) return std::nullopt;
  if (claim->what != engine::Claim::What::nothing) claim->in[0].reset();
  if (engine_->exchange(number_, *claim, more, chores_)) {
    return LoopTask(shared_from_this(), std::move(claim));
  }
  spare_.push_back(std::move(claim));
  return std::nullopt;
}

std::optional<LoopTask> TaskLane::claim() {
  std::unique_ptr<engine::Claim> claim;
  if (spare_.empty()) {
    claim = std::make_unique<engine::Claim>();
  } else {
    claim = std::move(spare_.back());
    spare_.pop_back();
  }
  return exchange(std::move(claim), true);
}

std::optional<LoopTask> TaskLane::finish(LoopTask& task, nb::object result) {
  auto claim = std::move(task.claim_);
  if (!result.is_none() || claim->what == engine::Claim::What::poll) {
    claim->out.push_back({{item_of(result.release().ptr()), 0}, 0});
  }
  return exchange(std::move(claim), true);
}

std::optional<LoopTask> TaskLane::end_epoch(LoopTask& task) {
  auto claim = std::move(task.claim_);
  claim->epoch_end = true;
  return exchange(std::move(claim), true);
}

void TaskLane::end_source(LoopTask& task) {
  auto claim = std::move(task.claim_);
  claim->source_done = true;
  (void)exchange(std::move(claim), false);
}

void TaskLane::abandon(LoopTask& task) {
  if (task.claim_ != nullptr) (void)exchange(std::move(task.claim_), false);
}

std::optional<LoopTask> TaskLane::fail(LoopTask& task, nb::object exception, nb::object input,
                                       bool fatal) {
  auto claim = std::move(task.claim_);
  claim->errors.push_back(
      {0, error_of_exception(exception.release().ptr(), input.is_none() ? nullptr : input.ptr()),
       fatal});
  return exchange(std::move(claim), true);
}

std::optional<LoopTask> TaskLane::again(LoopTask& task, nb::object output, nb::object kept) {
  auto claim = std::move(task.claim_);
  auto parked = claim->task ? claim->task : std::make_shared<engine::ParkedTask>();
  parked->engine = engine_;
  parked->stage = claim->stage;
  parked->item = item_of(kept.release().ptr());
  if (!output.is_none()) claim->out.push_back({{item_of(output.release().ptr()), 0}, 0});
  claim->held.push_back({0, std::move(parked), false});
  return exchange(std::move(claim), true);
}

void TaskLane::flush() {
  if (engine_ != nullptr) engine_->carry_out(chores_);
}

}  // namespace penstock::bindings
