#include "py_engine.h"

#include <nanobind/stl/string.h>

#include <algorithm>

#include "engine/access.h"
#include "engine/clock.h"
#include "engine/thread_delay.h"
#include "errors.h"
#include "released.h"
#include "torch_range.h"

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

// Waiting is cut into pieces of this length, so that Ctrl-C is answered.
constexpr std::int64_t kSignalNs = 20'000'000;

// Who asks again and again without waiting, and finds nothing, lets go of the GIL for this long if
// a caller needs it: otherwise the callers would get it every few milliseconds only.
constexpr std::chrono::nanoseconds kPolling{50'000};

std::chrono::nanoseconds nanoseconds(double seconds) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

// An object in a line of a message.
std::string words(nb::handle object) {
  try {
    std::string text = or_wait([&] { return nb::cast<std::string>(nb::repr(object)); });
    return text.size() <= 200 ? text : text.substr(0, 197) + "...";
  } catch (nb::python_error& error) {
    return "an item whose repr failed";
  }
}

}  // namespace

nb::object exception_of(const Error& error) {
  if (const PythonFailure* failure = python_failure_of(error)) {
    return nb::borrow(failure->exception.get());
  }
  try {
    raise(error);
  } catch (nb::python_error& raised) {
    return nb::borrow(raised.value());
  }
}

nb::object input_of(const Error& error) {
  const PythonFailure* failure = python_failure_of(error);
  if (failure == nullptr || failure->input.get() == nullptr) return nb::none();
  return nb::borrow(failure->input.get());
}

void FailureLog::add(const FailureReport& report) {
  {
    std::lock_guard hold(lock_);
    waiting_.push_back(report);
  }
  if (holds_gil()) flush();
}

void FailureLog::flush() {
  std::vector<FailureReport> reports;
  {
    std::lock_guard hold(lock_);
    reports.swap(waiting_);
  }
  for (const FailureReport& report : reports) {
    try {
      const nb::object error = exception_of(report.error), input = input_of(report.error);
      or_wait([&] { nb::handle(report_.get())(report.stage, report.task, error, input); });
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("the failure log of a penstock pipeline");
    }
  }
}

PyEngine::PyEngine(Pipeline pipeline, std::shared_ptr<CallerLane> callers,
                   std::vector<std::shared_ptr<TaskLane>> loops, std::shared_ptr<FailureLog> log,
                   std::vector<Kept> kept)
    : pipeline_(std::move(pipeline)),
      engine_(engine::Access::engine_of(pipeline_)),
      callers_(std::move(callers)),
      loops_(std::move(loops)),
      log_(std::move(log)),
      kept_(std::move(kept)) {}

PyEngine::~PyEngine() {
  if (!python_is_ending()) stop(std::chrono::duration<double>(Pipeline::kStopTimeout).count());
}

void PyEngine::start() {
  callers_->serve(engine_);
  for (const auto& loop : loops_) loop->serve(engine_);
  delay_at_start_ns_ = engine_->pool_delay_ns();
  stolen_at_start_ns_ = engine::stolen_ns();
  must(engine_->start());
  cpu_at_start_ns_ = engine::cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void PyEngine::request_stop() {
  engine_->request_stop();
}

std::optional<std::string> PyEngine::shut_down(double timeout) {
  std::int64_t not_yet = 0;
  if (cpu_at_stop_ns_.compare_exchange_strong(not_yet, engine::cpu_ns(CLOCK_PROCESS_CPUTIME_ID))) {
    delay_at_stop_ns_ = engine_->pool_delay_ns();
    stolen_at_stop_ns_ = engine::stolen_ns();
  }
  const Status stopped = engine_->stop(nanoseconds(timeout), true);
  std::optional<std::string> stuck;
  if (!stopped.ok()) stuck = stopped.error().message();
  for (const std::string& stage : callers_->calls_in_progress()) {
    stuck = (stuck ? *stuck + ", " : "stop: abandoned what is still running in stage ") + stage;
  }
  if (stuck) {
    const Held held;
    for (const nb::object& input : callers_->inputs_in_progress()) *stuck += " on " + words(input);
  }
  callers_->end();
  return stuck;
}

std::optional<std::string> PyEngine::stop(double timeout) {
  std::optional<std::string> stuck;
  {
    const Released released;
    stuck = shut_down(timeout);
  }
  log_->flush();
  std::vector<Kept> kept;
  {
    std::lock_guard hold(lock_);
    kept.swap(kept_);
  }
  kept.clear();
  release_put_aside();
  return stuck;
}

PyEngine::Taken PyEngine::take(double timeout) {
  // What is ready is taken without letting go of the GIL.
  Delivery got = signalled_.load(std::memory_order_relaxed)
                     ? take_back()
                     : engine_->get_item(std::chrono::nanoseconds(0), timeout != 0);
  if (got.kind == Delivery::Kind::timeout && timeout == 0 && callers_->wait_for_gil()) {
    const Released released;
    got = engine_->get_item(kPolling);
  }
  if (got.kind == Delivery::Kind::timeout && timeout != 0) {
    const TorchRange shown;
    const std::int64_t deadline = engine::now_ns() + nanoseconds(timeout).count();
    bool waited = false;
    while (got.kind == Delivery::Kind::timeout) {
      std::int64_t wait = kSignalNs;
      if (timeout > 0) wait = std::min(wait, deadline - engine::now_ns());
      if (wait <= 0 && waited) break;
      waited = true;  // once at least: it was promised
      std::int64_t came = 0;
      {
        const Released released;
        got = engine_->get_item(std::chrono::nanoseconds(std::max<std::int64_t>(wait, 1)));
        came = engine::now_ns();
      }
      consumer_gil_ns_ += engine::now_ns() - came;
      if (PyErr_CheckSignals() != 0) {
        if (got.kind != Delivery::Kind::timeout) give_back(std::move(got));
        throw nb::python_error();
      }
    }
  }
  release_put_aside();
  if (got.kind != Delivery::Kind::item) log_->flush();
  switch (got.kind) {
    case Delivery::Kind::item:
      return {Got::item, std::move(got.item)};
    case Delivery::Kind::epoch_end:
      return {Got::epoch_end, {}};
    case Delivery::Kind::end:
      return {Got::end, {}};
    case Delivery::Kind::timeout:
      return {Got::timeout, {}};
    case Delivery::Kind::failed:
      break;
  }
  return {got.error->code() == Code::closed ? Got::stopped : Got::failed, {}};
}

void PyEngine::give_back(Delivery delivery) {
  std::lock_guard hold(lock_);
  given_back_.push_back(std::move(delivery));
  signalled_.store(true, std::memory_order_relaxed);
}

Delivery PyEngine::take_back() {
  std::lock_guard hold(lock_);
  if (given_back_.empty()) return {Delivery::Kind::timeout, {}, {}};
  Delivery delivery = std::move(given_back_.front());
  given_back_.pop_front();
  signalled_.store(!given_back_.empty(), std::memory_order_relaxed);
  return delivery;
}

void PyEngine::forget() {
  stop(0.1);
}

PipelineStats PyEngine::stats() const {
  return engine_->stats();
}

double PyEngine::gil_wait(std::size_t stage) const {
  return callers_->gil_wait(engine_->flow()[stage]);
}

bool PyEngine::calls_python(std::size_t stage) const {
  return engine_->flow()[stage]->lane != 0;  // the pool is the first, all others call Python
}

double PyEngine::python_cpu() const {
  return callers_->cpu_seconds();
}

double PyEngine::native_delay() const {
  const bool stopped = cpu_at_stop_ns_ != 0;
  const std::int64_t now = stopped ? delay_at_stop_ns_.load() : engine_->pool_delay_ns();
  return static_cast<double>(now - delay_at_start_ns_) * 1e-9;
}

double PyEngine::stolen() const {
  if (cpu_at_start_ns_ == 0) return 0;
  const bool stopped = cpu_at_stop_ns_ != 0;
  const std::int64_t now = stopped ? stolen_at_stop_ns_.load() : engine::stolen_ns();
  return static_cast<double>(now - stolen_at_start_ns_) * 1e-9;
}

double PyEngine::python_delay() const {
  return callers_->delay_seconds();
}

double PyEngine::consumer_gil_wait() const {
  return static_cast<double>(consumer_gil_ns_) * 1e-9;
}

double PyEngine::process_cpu() const {
  if (cpu_at_start_ns_ == 0) return 0;
  const std::int64_t stopped = cpu_at_stop_ns_;
  const std::int64_t now = stopped != 0 ? stopped : engine::cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
  return static_cast<double>(now - cpu_at_start_ns_) * 1e-9;
}

std::vector<engine::FatalFailure> PyEngine::fatal_failures() const {
  return engine_->fatal_failures();
}

std::size_t PyEngine::place_of(const engine::Stage* stage) const {
  const auto& flow = engine_->flow();
  return static_cast<std::size_t>(std::find(flow.begin(), flow.end(), stage) - flow.begin());
}

}  // namespace penstock::bindings
