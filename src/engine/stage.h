// A stage at run time: its place in the graph, its tasks and its statistics.
//
// Everything here is guarded by the engine's lock, but for the parts of an OpenTicket that say
// otherwise.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/histogram.h"
#include "engine/lock.h"
#include "engine/order.h"
#include "engine/queue.h"
#include "penstock/stage.h"

namespace penstock::engine {

enum class Kind : std::uint8_t { source, pipe, stream, fill };

// What the builder collects for a stage.
struct StageSpec {
  std::string name;
  Kind kind = Kind::pipe;
  StepFunction step = {};  // all but fill
  RowCount rows = {};      // fill
  RowFunction row = {};
  int paths = 1;
  bool may_wait = false;  // its step may return again or blocked without an output
  bool gathers = false;   // an aggregator: items without an output are not lost
  bool routes = false;
  StageOptions options = {};
};

// A task between two of its steps.
struct ParkedTask {
  std::weak_ptr<Engine> engine;
  Stage* stage = nullptr;
  std::uint64_t number = 0;    // in the order window
  std::uint64_t position = 0;  // among the stage's inputs
  Item item;
  int reserved = 0;     // output room it keeps
  bool flush = false;   // it is the flush of an aggregator
  bool parked = false;  // its step has returned
  bool woken = false;   // a wake-up has come and was not used yet
};

// A batch being filled. Workers claim rows without the lock.
struct OpenTicket {
  Item item;
  std::size_t rows = 0;
  std::uint64_t number = 0;          // in the order window
  std::uint32_t taken = 0;           // its number in the queue before this stage
  int workers = 0;                   // inside, under the engine's lock
  std::atomic<std::size_t> next{0};  // first row nobody has claimed
  std::atomic<std::size_t> left{0};  // rows that have not ended
  Mutex error_lock;                  // guards the two below
  std::optional<Error> error;        // of the failed row with the lowest number
  std::size_t error_row = 0;

  bool claimable() const noexcept { return next.load(std::memory_order_relaxed) < rows; }
};

// Why a stage is not starting another task right now.
enum class Condition : std::uint8_t { ready, busy, waiting, blocked };

struct Stage {
  StageSpec spec;
  std::ptrdiff_t peers_end = 0;  // in the engine's list: end of the stages at this distance
  int lane = 0;                  // in the engine's list
  int concurrency = 1;
  Queue* in = nullptr;
  std::vector<Queue*> out;  // one per path

  // Tasks.
  int running = 0;
  int parked = 0;                                   // between two steps, ready or not
  std::deque<std::shared_ptr<ParkedTask>> ready;    // of these, those that may go on
  std::deque<std::shared_ptr<ParkedTask>> blocked;  // and those that wait for a Waker
  OrderWindow window;
  std::shared_ptr<ParkedTask> source_task;  // a source's one task; used by the thread that polls
  bool source_done = false;
  bool flushed = false;  // the flush for the mark at the head of the input has run
  bool yielded = false;  // its last task asked for another turn without doing anything
  int barriers = 0;      // outputs at which this stage waits for other producers
  bool muted = false;    // the pipeline has failed here or later: outputs are not wanted any more
  bool ended = false;    // its end mark is out

  // Batches being filled, oldest first, and spare ones.
  std::deque<std::unique_ptr<OpenTicket>> open;
  std::vector<std::unique_ptr<OpenTicket>> spare;

  // Statistics.
  std::uint64_t items_in = 0;
  std::uint64_t items_out = 0;
  std::uint64_t dropped = 0;
  std::uint64_t failures = 0;
  std::uint64_t processed = 0;  // tasks that are over
  std::uint64_t steps = 0;      // steps of streams that were not the last
  std::int64_t task_ns = 0;
  double mean_ns = -1;    // recent; negative before the first task
  double steady_ns = -1;  // the same over a longer time
  bool was_fast = false;
  Histogram histogram;
  Condition condition = Condition::waiting;
  std::int64_t since = 0;
  std::array<std::int64_t, 4> condition_ns{};
  std::atomic<const std::string*> traced_name{nullptr};  // see traced_name()
  std::uint64_t traced_as = 0;                           // recording and number in it

  bool ordered() const noexcept {
    return spec.kind == Kind::fill || (spec.options.order == Order::input && concurrency > 1);
  }
  // May another task begin? Batches are filled by all who are there: the pool's threads, and a
  // consumer that helps them.
  bool has_token() const noexcept {
    const bool by_all = spec.kind == Kind::fill && !spec.options.concurrency;
    return by_all || running + parked < concurrency;
  }
  bool quiet() const noexcept {
    return running == 0 && parked == 0 && window.empty() && open.empty();
  }

  int room() const noexcept {
    int least = out[0]->room();
    for (std::size_t i = 1; i < out.size(); ++i) least = std::min(least, out[i]->room());
    return least;
  }
  bool outputs_are_read() const noexcept {
    return std::all_of(out.begin(), out.end(), [](const Queue* queue) { return queue->empty(); });
  }
  void reserve(int n) noexcept {
    for (Queue* queue : out) queue->reserve(n);
  }
  void release(int n) noexcept {
    for (Queue* queue : out) queue->release(n);
  }

  // Tasks this short are taken several at a time, so that the lock is paid once for all.
  static constexpr double kBurstNs = 4000;
  static constexpr int kBurst = 32;
  int burst() const noexcept {
    if (mean_ns < 0 || spec.may_wait) return 1;
    return static_cast<int>(std::clamp(kBurstNs / std::max(mean_ns, 1.0), 1.0, double{kBurst}));
  }

  // A stage that ends a task more often than every 50 us may have longer queues beside it. A few
  // tasks that were interrupted are no reason to shorten them.
  static constexpr double kFastNs = 50'000;
  static constexpr double kShortNs = 100'000;
  static constexpr int kGrownQueue = 64;
  bool fast() const noexcept {
    const double ns = lane == 0 ? mean_ns : steady_ns;  // native workers are not held up by a GIL
    return ns >= 0 && ns < kFastNs * concurrency;
  }

  bool is_short() const noexcept { return mean_ns >= 0 && mean_ns < kShortNs; }
  bool may_be_helped() const noexcept { return spec.options.consumer_helps && is_short(); }

  // Such tasks are over before another thread could be woken up to help.
  bool quick() const noexcept { return mean_ns >= 0 && mean_ns <= kBurstNs / 2; }

  // About how long it would take to do all that this stage could do now.
  double claimable_ns() const noexcept;

  void record_tasks(std::int64_t nanoseconds, int tasks) noexcept;
  void touch(std::int64_t now) noexcept;

 private:
  Condition judge() const noexcept;
};

}  // namespace penstock::engine
