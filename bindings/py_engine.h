// A running engine as Python sees it: items come out as objects, failures as exceptions.
//
// Members are called with the GIL held, by one consumer at a time; stop and the destructor let go
// of it while they wait.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "caller_lane.h"
#include "penstock/pipeline.h"
#include "python_steps.h"
#include "python_value.h"
#include "task_lane.h"

namespace penstock::bindings {

// Failures on their way to the logger. Native workers do not run Python: what happens on them is
// reported by the next thread that does.
class FailureLog {
 public:
  // report(stage, task, exception, input)
  explicit FailureLog(nanobind::object report) : report_(report.release().ptr()) {}
  void add(const FailureReport& report);
  void flush();  // with the GIL

 private:
  PyValue report_;
  std::mutex lock_;
  std::vector<FailureReport> waiting_;
};

// The exception that stands for an error (one is made for native errors), and the item it is about.
nanobind::object exception_of(const Error& error);
nanobind::object input_of(const Error& error);

class PyEngine {
 public:
  enum class Got { item, epoch_end, end, failed, timeout, stopped };
  struct Taken {
    Got kind;
    Item item;
  };

  PyEngine(Pipeline pipeline, std::shared_ptr<CallerLane> callers,
           std::vector<std::shared_ptr<TaskLane>> loops, std::shared_ptr<FailureLog> log,
           std::vector<Kept> kept);
  ~PyEngine();

  void start();
  void request_stop();
  // Returns the names of stages in which something was abandoned.
  std::optional<std::string> stop(double timeout);
  // A negative timeout waits for ever. Throws what a signal handler raised; nothing is lost by it.
  Taken take(double timeout);

  // For the garbage collector: what the stages hold on to, until they are stopped.
  const std::vector<Kept>& kept() const { return kept_; }
  void forget();

  PipelineStats stats() const;
  double gil_wait(std::size_t stage) const;  // of a stage by its place in the flow
  bool calls_python(std::size_t stage) const;
  double python_cpu() const;         // CPU time of the threads that call Python
  double python_delay() const;       // time in which these could have run but had no core
  double native_delay() const;       // likewise, of native workers
  double stolen() const;             // time that the host took from this machine's cores, of one
  double process_cpu() const;        // CPU time of the process, from start to stop
  double consumer_gil_wait() const;  // time in which the consumer had its item but not the GIL
  std::vector<engine::FatalFailure> fatal_failures() const;
  std::size_t place_of(const engine::Stage* stage) const;

 private:
  std::optional<std::string> shut_down(double timeout);
  void give_back(Delivery delivery);
  Delivery take_back();

  Pipeline pipeline_;
  std::shared_ptr<engine::Engine> engine_;
  std::shared_ptr<CallerLane> callers_;
  std::vector<std::shared_ptr<TaskLane>> loops_;
  std::shared_ptr<FailureLog> log_;
  std::mutex lock_;  // guards the two below
  std::vector<Kept> kept_;
  std::deque<Delivery> given_back_;     // what was taken when a signal came
  std::atomic<bool> signalled_{false};  // there is some
  std::atomic<std::int64_t> cpu_at_start_ns_{0}, cpu_at_stop_ns_{0};
  std::atomic<std::int64_t> delay_at_start_ns_{0}, delay_at_stop_ns_{0};
  std::atomic<std::int64_t> stolen_at_start_ns_{0}, stolen_at_stop_ns_{0};
  std::atomic<std::int64_t> consumer_gil_ns_{0};
};

}  // namespace penstock::bindings
