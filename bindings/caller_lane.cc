#include "caller_lane.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <string>

#include "engine/clock.h"
#include "engine/fork.h"
#include "engine/stage.h"
#include "engine/thread_delay.h"
#include "engine/trace.h"
#include "python_steps.h"
#include "python_value.h"

namespace penstock::bindings {

namespace {
constexpr std::int64_t kHoldNs = 100'000;  // how long the GIL is kept from item to item

// How long a caller without work looks for some before it sleeps. After quick tasks the consumer,
// or a stage elsewhere, needs some microseconds for what it was brought.
constexpr std::int64_t kSpinNs = 3'000;
constexpr std::int64_t kTurnSpinNs = 50'000;

// A consumer that takes turns may stay away, and has called nobody: it was going to be back at
// once. So a caller looks by itself after this long, once.
constexpr std::int64_t kLookAgainNs = 500'000;

constexpr std::int64_t kTracedWaitNs = 5'000;  // shorter ones are not worth a slice

void trace_gil_wait(std::int64_t asked, std::int64_t got) {
  static const auto* name = new std::string("wait for the GIL");
  engine::TraceSlice slice;
  slice.kind = engine::TraceSlice::Kind::gil;
  slice.start = asked;
  slice.end = got;
  slice.name = name;
  engine::trace(slice);
}
}  // namespace

CallerLane::CallerLane(int tasks, int sources)
    : tasks_(tasks), most_(tasks + sources), process_(engine::process_number()) {}

CallerLane::~CallerLane() {
  forget_threads_after_fork();
  for (const auto& one : threads_) {
    if (one->thread.joinable()) one->thread.detach();
  }
}

bool CallerLane::idle() const noexcept {
  if (coming_.load(std::memory_order_seq_cst) > 0) return false;
  return parking_.idle() || made_.load(std::memory_order_relaxed) < most_;
}

void CallerLane::wake() noexcept {
  coming_.fetch_add(1);
  if (parking_.wake_one()) return;
  if (!make_thread()) coming_.fetch_sub(1);
}

bool CallerLane::make_thread() noexcept {
  if (made_.load() >= most_) return false;
  std::lock_guard hold(threads_lock_);
  if (ending_ || engine_ == nullptr || made_.load() >= most_) return false;
  const int number = made_.fetch_add(1);
  auto one = std::make_shared<Thread>();
  threads_.push_back(one);
  one->thread = std::thread([self = shared_from_this(), one, number] {
    one->number = gettid();
    self->run(*one, static_cast<unsigned>(number));
    one->input = nullptr;
    self->ended_delay_ns_ += engine::thread_delay_ns(one->number);
    self->ended_cpu_ns_ += engine::cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    one->done = true;
  });
  const std::string name = "penstock-py" + std::to_string(number);
  pthread_setname_np(one->thread.native_handle(), name.c_str());
  return true;
}

void CallerLane::serve(std::shared_ptr<engine::Engine> engine) {
  std::lock_guard hold(threads_lock_);
  engine_ = std::move(engine);
  number_ = engine_->lane_number(*this);
}

// In a forked child the threads do not exist: there is nothing to wait for, nothing to detach.
bool CallerLane::forget_threads_after_fork() {
  if (process_ == engine::process_number()) return false;
  for (auto& one : threads_) new std::shared_ptr<Thread>(std::move(one));
  threads_.clear();
  return true;
}

void CallerLane::end() {
  if (forget_threads_after_fork()) return;
  std::vector<std::shared_ptr<Thread>> threads;
  {
    std::lock_guard hold(threads_lock_);
    ending_ = true;
    threads.swap(threads_);
    engine_.reset();
  }
  std::deque<Call> unwanted;
  {
    std::lock_guard hold(calls_lock_);
    unwanted.swap(calls_);
    calls_waiting_ = 0;
  }
  while (parking_.idle()) parking_.wake_one();
  // The engine has waited for running calls. What is not done within a moment is stuck in one.
  const std::int64_t deadline = engine::now_ns() + 100'000'000;
  for (const auto& one : threads) {
    while (!one->done && engine::now_ns() < deadline) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    if (one->done) {
      one->thread.join();
    } else {
      one->thread.detach();
    }
  }
}

// No destructor between here and a Python call may need Python: while the interpreter goes down,
// a thread that asks for the GIL is unwound.
void CallerLane::run(Thread& self, unsigned worker) {
  self.input = &input_in_progress();
  std::shared_ptr<engine::Engine> engine;
  int number = -1;
  {
    std::lock_guard hold(threads_lock_);
    engine = engine_;
    number = number_;
  }
  if (engine == nullptr || python_is_ending()) return;
  const PyGILState_STATE attached = PyGILState_Ensure();
  PyThreadState* state = PyEval_SaveThread();
  engine::Claim claim;
  engine::Parking::Place place;
  engine::Chores chores;
  bool coming = true;  // counted in coming_
  bool was_quick = false;
  bool patient = false;
  bool look_again = false;
  const auto announce = [&] {
    if (!std::exchange(coming, true)) coming_.fetch_add(1);
  };
  const auto arrived = [&] {
    if (std::exchange(coming, false)) coming_.fetch_sub(1);
  };
  while (!ending_) {
    if (!has_work(*engine, number)) {
      arrived();
      parking_.declare(place);
      if (ending_ || has_work(*engine, number)) {
        coming = parking_.retract(place);
      } else {
        const bool looks = std::exchange(look_again, false);
        coming = parking_.park(place, patient ? kTurnSpinNs : kSpinNs, looks ? kLookAgainNs : 0);
      }
      continue;
    }
    announce();
    const std::int64_t asked = engine::now_ns();
    PyEval_RestoreThread(state);
    const std::int64_t got = engine::now_ns();
    arrived();
    if (calls_waiting_.load() > 0) make_call(self, *engine, number, chores);
    bool found = engine->exchange(number, claim, true, chores);
    if (found) count_gil_wait(claim.stage, got - asked);
    if (engine::tracing() && got - asked > kTracedWaitNs) trace_gil_wait(asked, got);
    bool more = true;
    while (found) {
      const bool quick = was_quick = look_again = claim.quick;
      patient = quick && claim.patient;
      const std::int64_t started = claim.started;
      if (!quick) engine->carry_out(chores);
      engine->run(claim, worker);
      more = (quick ? started : engine::now_ns()) - got < kHoldNs && !ending_ &&
             calls_waiting_.load(std::memory_order_relaxed) == 0;
      if (!more) announce();  // this thread goes on, so nobody else needs to be called
      found = engine->exchange(number, claim, more, chores);
    }
    if (chores.heavy()) engine->carry_out(chores);
    release_put_aside();
    state = PyEval_SaveThread();
    // Who is woken now finds the GIL free.
    engine->carry_out(chores);
    if (!more && was_quick) sched_yield();  // somebody else may want the GIL
  }
  arrived();
  if (python_is_ending()) return;
  PyEval_RestoreThread(state);
  PyGILState_Release(attached);
}

void CallerLane::submit(nanobind::object call, std::string stage, nanobind::object item) {
  {
    std::lock_guard hold(calls_lock_);
    calls_.push_back(
        {PyValue(call.release().ptr()), std::move(stage), PyValue(item.release().ptr())});
    calls_waiting_.fetch_add(1);
  }
  if (idle()) wake();
}

bool CallerLane::has_work(const engine::Engine& engine, int number) const {
  return engine.has_work(number) || (calls_waiting_.load() > 0 && engine.has_room(number));
}

// One of the calls that were submitted. With the GIL held.
void CallerLane::make_call(Thread& self, engine::Engine& engine, int number,
                           engine::Chores& chores) {
  if (!engine.begin_call(number)) return;
  Call call;
  {
    std::lock_guard hold(calls_lock_);
    if (!calls_.empty()) {
      call = std::move(calls_.front());
      calls_.pop_front();
      calls_waiting_.fetch_sub(1);
      self.calls_for = call.stage;
    }
  }
  if (call.function.get() != nullptr) {
    if (calls_waiting_.load() > 0 && idle()) wake();
    input_in_progress() = call.item.get();
    PyObject* result = PyObject_CallNoArgs(call.function.get());
    input_in_progress() = nullptr;
    if (result == nullptr) PyErr_WriteUnraisable(call.function.get());
    Py_XDECREF(result);
    call = Call();
    std::lock_guard hold(calls_lock_);
    self.calls_for.clear();
  }
  engine.end_call(number, chores);
}

std::vector<std::string> CallerLane::calls_in_progress() const {
  std::vector<std::string> stages;
  std::lock_guard hold_threads(threads_lock_);
  std::lock_guard hold(calls_lock_);
  for (const auto& one : threads_) {
    if (!one->calls_for.empty()) stages.push_back(one->calls_for);
  }
  return stages;
}

std::vector<nanobind::object> CallerLane::inputs_in_progress() {
  std::vector<nanobind::object> inputs;
  std::lock_guard hold(threads_lock_);
  for (const auto& one : threads_) {
    PyObject** input = one->input.load();
    if (input != nullptr && *input != nullptr) inputs.push_back(nanobind::borrow(*input));
  }
  return inputs;
}

void CallerLane::count_gil_wait(const engine::Stage* stage, std::int64_t ns) {
  std::lock_guard hold(waits_lock_);
  for (auto& [known, total] : waits_) {
    if (known == stage) {
      total += ns;
      return;
    }
  }
  waits_.emplace_back(stage, ns);
}

double CallerLane::cpu_seconds() const {
  std::int64_t ns = ended_cpu_ns_;
  std::lock_guard hold(threads_lock_);
  for (const auto& one : threads_) {
    clockid_t clock;
    if (one->done || pthread_getcpuclockid(one->thread.native_handle(), &clock) != 0) continue;
    ns += engine::cpu_ns(clock);
  }
  return static_cast<double>(ns) * 1e-9;
}

double CallerLane::delay_seconds() const {
  std::int64_t ns = ended_delay_ns_;
  std::lock_guard hold(threads_lock_);
  for (const auto& one : threads_) {
    if (!one->done && one->number != 0) ns += engine::thread_delay_ns(one->number);
  }
  return static_cast<double>(ns) * 1e-9;
}

double CallerLane::gil_wait(const engine::Stage* stage) const {
  std::lock_guard hold(waits_lock_);
  for (const auto& [known, total] : waits_) {
    if (known == stage) return static_cast<double>(total) * 1e-9;
  }
  return 0;
}

}  // namespace penstock::bindings
