// The lane of a stage whose tasks live on an event loop: they are claimed there, awaited, and
// completed later, all on the loop's thread. New work is announced through a file descriptor that
// the loop watches, because announcing must not need the GIL.
//
// All members but idle() and wake() are for the loop's thread, with the GIL held.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <vector>

#include "engine/engine.h"

namespace penstock::bindings {

class TaskLane;

// A task under way on the loop. One that is dropped without having been completed fails.
class LoopTask {
 public:
  LoopTask(std::shared_ptr<TaskLane> lane, std::unique_ptr<engine::Claim> claim);
  LoopTask(LoopTask&&) noexcept = default;
  ~LoopTask();

  nanobind::object item();  // the input, or what the task kept: hand it back with again()
  bool resumed() const;     // it kept something before

 private:
  friend class TaskLane;
  std::shared_ptr<TaskLane> lane_;
  std::unique_ptr<engine::Claim> claim_;
};

class TaskLane final : public Lane, public std::enable_shared_from_this<TaskLane> {
 public:
  TaskLane();
  ~TaskLane() override;

  bool idle() const noexcept override { return idle_.load(std::memory_order_seq_cst); }
  void wake() noexcept override;

  void serve(std::shared_ptr<engine::Engine> engine);
  void retire();  // lets go of the engine, which holds on to this lane; calls below do nothing then
  int fileno() const noexcept { return descriptor_; }
  void set_idle(bool idle) noexcept { idle_.store(idle, std::memory_order_seq_cst); }
  void acknowledge() noexcept;  // the descriptor's signal has been seen

  // The next task, or nothing. The calls below complete a task and take the next one.
  std::optional<LoopTask> claim();
  std::optional<LoopTask> finish(LoopTask& task, nanobind::object result);  // None: drop
  std::optional<LoopTask> end_epoch(LoopTask& task);                        // sources only
  std::optional<LoopTask> fail(LoopTask& task, nanobind::object exception, nanobind::object input,
                               bool fatal);
  // Emits `output` (None: nothing) and goes on later with `kept` as its item.
  std::optional<LoopTask> again(LoopTask& task, nanobind::object output, nanobind::object kept);
  void end_source(LoopTask& task);
  void abandon(LoopTask& task);  // no output, no next task: the loop is being stopped

  // Wakes up who is waiting for what was completed since the last time. Once per turn of the loop.
  void flush();
  bool has_chores() const noexcept { return !chores_.empty(); }

 private:
  friend class LoopTask;
  std::optional<LoopTask> exchange(std::unique_ptr<engine::Claim> claim, bool more);

  int descriptor_;
  std::atomic<bool> idle_{false};
  std::shared_ptr<engine::Engine> engine_;
  int number_ = -1;
  engine::Chores chores_;
  std::vector<std::unique_ptr<engine::Claim>> spare_;
};

}  // namespace penstock::bindings
