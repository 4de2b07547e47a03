// What a stage of a pipeline is made of: the step function it runs, and what that function may do.
//
// A task is one input item (for a source: one poll) being worked on by a stage. Its step function
// is called, does a bounded amount of work and says what is next:
//   done     the task is over; if it emitted nothing, the item is dropped
//   again    call me again: after emitting one of several outputs, or to give others a turn
//   blocked  nothing to do until the task's Waker is called; the thread goes and does other work
//   failed   ctx.fail(error) was called; the failure policy decides
// A step function must not sleep or wait: it returns blocked instead.
//
// Thread safety: a stage with concurrency n has up to n tasks running at once, each on its own
// thread with its own Context. Step functions of sources are never called by two threads at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "penstock/error.h"
#include "penstock/item.h"

namespace penstock {

namespace engine {
class Engine;
struct Access;
struct ParkedTask;
struct Stage;
}  // namespace engine

enum class Step : std::uint8_t { done, again, blocked, failed };

enum class Order : std::uint8_t {
  completion,  // outputs leave as tasks finish
  input,       // outputs leave in the order of their inputs
};

// Makes a blocked task runnable again. May be called from any thread, early (before the step has
// returned), late (after the pipeline is gone) and more than once.
class Waker {
 public:
  Waker() = default;
  void wake() const;

 private:
  friend class Context;
  explicit Waker(std::shared_ptr<engine::ParkedTask> task) : task_(std::move(task)) {}
  std::shared_ptr<engine::ParkedTask> task_;
};

// What a step function sees of its task. Valid during the call only.
class Context {
 public:
  // The task's input. It stays with the task from step to step, so a step that returns again or
  // blocked may replace it by whatever it needs next time. Empty for sources.
  Item& item() noexcept { return *item_; }

  // The item's place among all that this stage has taken, from 0: the same for any concurrency, and
  // from run to run if the stages before deliver in order. It counts on over epochs.
  std::uint64_t position() const noexcept { return position_; }

  // Hands one output to the next stage (to path `port` of a router). At most once per step.
  void emit(Item item, int port = 0) {
    out_ = std::move(item);
    port_ = port;
    emitted_++;
  }

  // For sources: all items so far belong to one epoch. Follow with again or done.
  void end_epoch() noexcept { epoch_end_ = true; }

  // Records why the task fails: `return ctx.fail(...)`. A fatal failure ends the pipeline whatever
  // the failure policy.
  Step fail(Error error, bool fatal = false) {
    error_.emplace(std::move(error));
    fatal_ = fatal;
    return Step::failed;
  }

  // Ask for it before returning blocked. It is good for this task only; a source is one task for
  // life. Tasks that never block need not pay for it.
  Waker waker();

  // True once the pipeline is being stopped: long steps look at it and return early.
  bool stopping() const noexcept;

  // The calling worker's number in its pool, for per-worker scratch memory. A consumer that helps
  // has the number behind the last: once in each pipeline of a pool.
  unsigned worker() const noexcept { return worker_; }

 private:
  friend class engine::Engine;
  Item* item_ = nullptr;
  std::uint64_t position_ = 0;
  Item out_;
  int port_ = 0;
  int emitted_ = 0;  // in this step
  bool epoch_end_ = false;
  unsigned worker_ = 0;
  std::optional<Error> error_;
  bool fatal_ = false;
  std::shared_ptr<engine::ParkedTask> parked_;
  engine::Engine* engine_ = nullptr;
  engine::Stage* stage_ = nullptr;
};

using StepFunction = std::function<Step(Context&)>;

// Both are for stages that fill batches. RowCount is called under the engine's lock: it only reads
// a number. RowFunction fills row `row` of the ticket (a batch) held by the item. Rows of one
// ticket run on several threads at once; each writes only what belongs to its row.
using RowFunction = std::function<Status(Item& ticket, std::size_t row, unsigned worker)>;
using RowCount = std::function<std::size_t(const Item& ticket)>;

// How often tasks have failed, of one stage and of the whole pipeline. A stream counts its steps.
// Routers are not counted.
struct FailureCounts {
  std::uint64_t processed = 0;
  std::uint64_t failed = 0;
  std::uint64_t all_processed = 0;
  std::uint64_t all_failed = 0;
};

// Says whether that is too often. Asked after each task of a stage once something has failed;
// called under the engine's lock, so it only compares numbers.
using FailureLimit = std::function<bool(const FailureCounts&)>;

// At most n failures of a stage; a negative n means any number.
FailureLimit at_most(std::int64_t n);

class Lane;

struct StageOptions {
  // Tasks at once; empty: one, or every worker for stages that fill batches.
  std::optional<int> concurrency = {};
  Order order = Order::completion;
  // Finished items that may wait for the next stage. Empty: 2, and up to 64 while both neighbours
  // are fast (a task every 50 us); never so behind stages that make batches.
  std::optional<int> queue_size = {};
  std::shared_ptr<Lane> lane = {};      // where tasks run; empty: on the pipeline's workers
  FailureLimit too_many_failures = {};  // empty: the pipeline's
  // A consumer that has to wait may carry out tasks of this stage itself, while they take less than
  // 0.1 ms, as one more worker: its number is that of the pool's threads. Only for tasks that wait
  // for nothing but a core: until they return, it hears of no timeout and of no signal.
  bool consumer_helps = false;
  // Called when everything before the end of an epoch, or of all, has left this stage, and before
  // the next one learns of that end; may emit. Not for sources; `aggregate` brings its own.
  StepFunction flush = {};
};

}  // namespace penstock
