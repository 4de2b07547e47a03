// The lane on which Python functions run: a pool of threads that call Python, separate from the
// native workers. Each keeps its Python thread state for life, so thread-locals of user code
// survive from call to call.
//
// A caller takes the GIL, then takes one item, calls, publishes and goes on under the same hold
// while it has lasted less than 100 us and an item is ready: it never claims ahead. Whoever waits
// for results is woken once per hold, or before a call that is not known to be short.
//
// Threads are made when they are needed, up to `tasks` plus one for each source, so that a source
// that waits does not keep an op from running. They also make calls for stages whose tasks live on
// an event loop: such a call takes the place of a task.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "engine/parking.h"
#include "python_value.h"

namespace penstock::bindings {

class CallerLane final : public Lane, public std::enable_shared_from_this<CallerLane> {
 public:
  CallerLane(int tasks, int sources);
  ~CallerLane() override;

  bool idle() const noexcept override;
  void wake() noexcept override;
  int task_limit() const noexcept override { return tasks_; }
#ifndef Py_GIL_DISABLED
  bool exclusive() const noexcept override {
    return true;
  }  // there is one GIL
#endif

  // Before the engine starts.
  void serve(std::shared_ptr<engine::Engine> engine);

  // After the engine has stopped: threads end; one that is stuck in a user's call is left to go
  // quietly when the call returns. The GIL must not be held.
  void end();

  // Calls `call()` soon, for this stage and about this item. With the GIL held. What is submitted
  // once the engine is being stopped is dropped.
  void submit(nanobind::object call, std::string stage, nanobind::object item);

  // What the user's functions that are still running were called with. With the GIL held.
  std::vector<nanobind::object> inputs_in_progress();

  // The stages for which submitted calls are still running.
  std::vector<std::string> calls_in_progress() const;

  // Threads with something to do are on their way to the GIL.
  bool wait_for_gil() const noexcept {
    return coming_.load(std::memory_order_relaxed) > 0;
  }

  // CPU time of the threads, and the time in which they could have run but had no core.
  double cpu_seconds() const;
  double delay_seconds() const;

  // Time spent waiting for the GIL before tasks of this stage, in seconds.
  double gil_wait(const engine::Stage* stage) const;

 private:
  struct Call {
    PyValue function;
    std::string stage;
    PyValue item;
  };
  struct Thread {
    std::thread thread;
    std::atomic<bool> done{false};
    std::atomic<PyObject**> input{nullptr};  // the thread's input_in_progress
    std::string calls_for;                   // a stage, under calls_lock_
    std::atomic<int> number{0};              // by which the system knows it
  };

  void run(Thread& self, unsigned worker);
  bool has_work(const engine::Engine& engine, int number) const;
  void make_call(Thread& self, engine::Engine& engine, int number, engine::Chores& chores);
  bool make_thread() noexcept;
  bool forget_threads_after_fork();
  void count_gil_wait(const engine::Stage* stage, std::int64_t ns);

  const int tasks_;
  const int most_;
  const std::uint64_t process_;
  std::shared_ptr<engine::Engine> engine_;
  int number_ = -1;  // among the engine's lanes
  engine::Parking parking_;
  // Threads on their way: called, but not in possession of the GIL yet. They will look at
  // everything once they have it, so nobody else needs to be called meanwhile.
  std::atomic<int> coming_{0};
  std::atomic<bool> ending_{false};
  std::atomic<int> made_{0};
  mutable std::mutex threads_lock_;
  std::vector<std::shared_ptr<Thread>> threads_;
  std::atomic<std::int64_t> ended_cpu_ns_{0}, ended_delay_ns_{0};  // of threads that are done
  mutable std::mutex calls_lock_;                                  // after threads_lock_
  std::deque<Call> calls_;
  std::atomic<int> calls_waiting_{0};
  mutable std::mutex waits_lock_;
  std::vector<std::pair<const engine::Stage*, std::int64_t>> waits_;
};

}  // namespace penstock::bindings
