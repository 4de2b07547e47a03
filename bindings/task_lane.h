// The lane of a stage whose tasks live on an event loop: they are claimed there, awaited, and
// completed later, all on the loop's thread. New work is announced through a file descriptor that
// the loop watches, because announcing must not need the GIL.
//
// All members but idle() and wake() are for the loop's thread, with Python's thread state attached.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>

#include "engine/engine.h"

namespace penstock::bindings {

class TaskLane final : public Lane {
 public:
  TaskLane();
  ~TaskLane() override;

  bool idle() const noexcept override { return idle_.load(std::memory_order_seq_cst); }
  void wake() noexcept override;

  void serve(const std::shared_ptr<engine::Engine>& engine);
  int fileno() const noexcept { return descriptor_; }
  void set_idle(bool idle) noexcept { idle_.store(idle, std::memory_order_seq_cst); }
  void acknowledge() noexcept;  // the descriptor's signal has been seen

  // Wakes up who is waiting for what was completed since the last time. Each wake-up hands over the
  // GIL, so that one flush for all that is completed in a turn of the loop is best: `arrange`
  // (None: nobody) is called when there is something to flush and no flush is coming yet.
  void flush();
  void when_due(nanobind::object arrange);

  // The stage fails, and with it the pipeline, whatever its tasks are doing.
  void fail(nanobind::object exception);

 private:
  friend class LoopSlot;
  bool exchange(engine::Claim& claim, bool more, engine::Chores& chores);
  void see_to_flush();

  int descriptor_;
  std::atomic<bool> idle_{false};
  std::weak_ptr<engine::Engine> engine_;  // which holds on to this lane
  int number_ = -1;
  engine::Chores chores_;
  nanobind::object arrange_;  // only while the loop lives: the lane may die without the GIL
  bool flush_is_coming_ = false;
};

// A coroutine's place on the lane: it holds one task at a time. Each call that completes the task
// takes the next one and returns its item, or the object `nothing` when there is none. Where a
// stage wants to know of the end of an epoch, or of all, the object `epoch_end` or `end` comes in
// an item's place; the next stage learns of it when that task is completed. A task that is still
// held when the slot dies fails.
class LoopSlot {
 public:
  LoopSlot(std::shared_ptr<TaskLane> lane, nanobind::object nothing, nanobind::object epoch_end,
           nanobind::object end);
  LoopSlot(LoopSlot&&) noexcept = default;
  ~LoopSlot();

  nanobind::object claim();
  bool resumed() const;  // the item is what again() kept

  nanobind::object finish(nanobind::object result);  // None: no output
  nanobind::object finish_on(nanobind::object result, int path);
  nanobind::object pass_on(nanobind::object result);  // the same, but it was no task
  // With `silent` it is counted, but not reported.
  nanobind::object fail(nanobind::object exception, nanobind::object input, bool fatal,
                        bool silent);
  // Emits `output` (None: nothing) and goes on later with `kept` as its item.
  nanobind::object again(nanobind::object output, nanobind::object kept);
  nanobind::object end_epoch();  // sources only
  void end_source();
  void abandon();  // no output, no next task: the loop is being stopped

 private:
  nanobind::object exchange(bool more);

  std::shared_ptr<TaskLane> lane_;
  std::unique_ptr<engine::Claim> claim_;
  nanobind::object nothing_, epoch_end_, end_;
};

}  // namespace penstock::bindings
