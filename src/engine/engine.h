// The engine: one scheduler for stage pipelines and for pipelines that fill batches.
//
// One lock guards the graph's whole state: stages, queues, tasks, statistics. Work on it is done
// in short critical sections that publish the results of what a thread has just run and claim
// what it runs next; everything that may take time (steps, destructors of items, wake-ups, reports)
// happens outside. Threads of a lane ask for the task nearest the sink, so that memory drains
// before it fills. Short tasks are claimed several at a time, rows of a batch by an atomic counter.
//
//   claim.cc     which task is next
//   run.cc       carrying it out, without the lock
//   publish.cc   what becomes of the results; marks, failures
//   consumer.cc  the consumer's side of the sink
//   engine.cc    life: start, stop, wake-ups
//   statistics.cc
//   trace.cc     what every thread did, on request
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/clock.h"
#include "engine/graph.h"
#include "engine/lock.h"
#include "engine/queue.h"
#include "engine/stage.h"
#include "engine/worker_pool.h"
#include "penstock/pipeline.h"

namespace penstock::engine {

struct TraceRing;

// A piece of work on its way through claim, run and publish. Threads reuse theirs.
struct Claim {
  enum class What : std::uint8_t { nothing, poll, items, resumed, flush, rows };
  struct Emitted {
    Output output;
    int index;  // of the input it belongs to
  };
  struct Failed {
    int index;
    Error error;
    bool fatal = false;
    bool silent = false;
  };
  struct Held {  // a task that is not over
    int index;
    std::shared_ptr<ParkedTask> task;
    bool blocked;  // until woken; otherwise it may go on at once
  };

  What what = What::nothing;
  Stage* stage = nullptr;
  int count = 0;               // inputs
  int budget = 0;              // outputs for which room is reserved
  std::uint64_t number = 0;    // of the first input, in the order window
  std::uint64_t position = 0;  // of the first input, among all that the stage has taken
  std::uint32_t taken = 0;     // number of the first input in the queue before this stage
  std::int64_t started = 0;
  std::int64_t ended = 0;         // 0: when it is published
  bool quick = false;             // the stage's tasks are short: see Stage::quick
  bool patient = false;           // who carries it out may look for more at length: see claim_next
  bool ran = false;               // by run(); otherwise it is carried out elsewhere
  std::int64_t traced_until = 0;  // rows are traced one by one, as far as this
  TraceRing* trace_ring = nullptr;  // of the thread that uses this, once it was traced
  std::array<Item, Stage::kBurst> in;
  std::shared_ptr<ParkedTask> task;  // the one that goes on, for What::resumed
  OpenTicket* ticket = nullptr;
  Mark mark = Mark::end;  // which one is next, for What::flush

  // Results.
  std::vector<Emitted> out;
  std::vector<Held> held;
  std::vector<Failed> errors;
  bool source_done = false;
  bool epoch_end = false;
  bool ticket_done = false;
  bool uncounted = false;  // neither a task nor a failure
  int rows_done = 0;
  int steps = 0;  // of a stream, the last one of its task excepted

  void clear();  // for the next use; keeps its memory
};

// Why the pipeline has failed: the stage, its error, and how often tasks had failed by then.
struct FatalFailure {
  const Stage* stage;
  Error error;
  FailureCounts counts;
  bool too_many = false;  // a limit was passed; otherwise the error itself is the reason
};

// Items that the consumer has taken from the sink together, to be delivered one by one without the
// engine's lock. Their places in the sink stay reserved until the consumer comes back for more, so
// the sink never holds more than its size. Its lock is taken after the engine's.
struct Hand {
  mutable Mutex lock;
  std::vector<Item> items;
  std::size_t next = 0;         // the first that was not delivered
  int places = 0;               // reserved in the sink; under the engine's lock
  std::uint64_t delivered = 0;  // from here, since the engine was made
};

// What a critical section leaves to be done after it, without the lock.
struct Chores {
  std::vector<Item> discarded;
  std::vector<FailureReport> reports;
  std::uint64_t lanes = 0;  // to be woken up
  bool consumer = false;    // likewise

  bool empty() const noexcept { return lanes == 0 && !consumer && !heavy(); }
  bool heavy() const noexcept { return !discarded.empty() || !reports.empty(); }
};

class Engine final : public std::enable_shared_from_this<Engine> {
 public:
  Engine(GraphSpec graph, const std::vector<int>& depth, const BuildOptions& options,
         std::shared_ptr<PoolState> pool);

  Status start();
  // With keep_sink, items that wait at the sink can still be taken afterwards.
  Status stop(std::chrono::nanoseconds timeout, bool keep_sink = false);
  void request_stop();  // no task starts any more, the consumer is let go; stop() must follow
  // With back_to_wait, a consumer that finds nothing promises to come back at once and to wait.
  Delivery get_item(std::chrono::nanoseconds timeout, bool back_to_wait = false);
  PipelineStats stats() const;
  std::vector<FailureReport> failures() const;
  std::vector<FatalFailure> fatal_failures() const;
  std::int64_t pool_delay_ns() const noexcept { return pool_->delay_ns(); }
  const std::vector<Stage*>& flow() const noexcept { return flow_; }  // names and order are fixed

  // For the worker pool: runs tasks of the native lane until there are none, or for a moment.
  // False: there was nothing to do.
  bool work(Claim& claim, unsigned worker);

  // For other lanes. exchange() publishes the claim's results, if it has any, and then claims the
  // next task of the lane if `more` says so; true: there is one, to be carried out with run().
  // Wake-ups are added to `chores`, which must be carried out before this thread waits or starts
  // something long.
  int lane_number(const Lane& lane) const;
  bool exchange(int lane, Claim& claim, bool more, Chores& chores);
  void run(Claim& claim, unsigned worker);
  void carry_out(Chores& chores);
  bool has_work(int lane) const;
  // Calls that a lane makes for others beside its tasks: each takes the place of a task. False: the
  // lane is busy, or the pipeline is being stopped.
  bool has_room(int lane) const;
  bool begin_call(int lane);
  void end_call(int lane, Chores& chores);
  // The pipeline fails at the stages of this lane, whatever they are doing.
  void fail(int lane, const Error& error, Chores& chores);
  std::optional<RemoteTask> claim_remote(const Lane& lane);
  void publish_remote(Claim& claim);

  void wake(ParkedTask& task);
  bool stopping() const noexcept { return stopping_.load(std::memory_order_relaxed); }

 private:
  struct LaneUse {
    std::shared_ptr<Lane> lane;
    int limit = std::numeric_limits<int>::max();
    bool exclusive = false;
    int running = 0;            // tasks, sources excepted
    int quick = 0;              // claims under way that are expected to be over in microseconds
    std::int64_t quick_at = 0;  // when the last of them began
  };
  enum class State : std::uint8_t { built, running, stopped };

  // claim.cc
  bool claim_next(int lane, int most, Claim& claim, bool helps = false);
  bool can_claim(const Stage& stage) const;
  bool try_claim(Stage& stage, int most, Claim& claim);
  bool can_resume(const Stage& stage) const;
  bool lane_has_room(const Stage& stage) const;
  void resume(Stage& stage, Claim& claim);
  void take_items(Stage& stage, int most, Claim& claim);
  bool take_rows(Stage& stage, Claim& claim);
  void open_ticket(Stage& stage);
  Item take_input(Stage& stage);

  // run.cc
  void run_items(Claim& claim, Context& ctx);
  void run_many(Claim& claim, Context& ctx);
  void run_rows(Claim& claim, unsigned worker);
  Step call(Stage& stage, const StepFunction& step, Context& ctx);

  // publish.cc
  void publish(Claim& claim);
  void settle(Claim& claim);
  void discard_results(Claim& claim);
  void choose_capacities(Stage& stage);
  void publish_tasks(Claim& claim);
  void count_tasks(const Claim& claim, std::uint64_t inputs, std::uint64_t outputs);
  void publish_outputs(Claim& claim, int inputs);
  void publish_held(Claim& claim);
  void publish_rows(Claim& claim);
  void settle_failure(Stage& stage, Failure failure);
  FailureCounts counts_of(const Stage& stage) const;
  bool too_many(const Stage& stage) const;
  void finish_ticket(Stage& stage, OpenTicket& ticket);
  void send(Stage& stage, Output output);
  void put(Stage& stage, Output output);
  void drain_window(Stage& stage);
  void forward(Stage& stage, Mark mark);
  void pass_failure(Stage& stage, Item failure);
  void fail_from(Stage& stage, Error error, bool too_many = false);
  void mute(Stage& stage);
  void drop_parked(Stage& stage);
  void drop_queue(Queue& queue);
  void end_if_over(Stage& stage);

  // trace.cc
  void publish_traced(Claim& claim);
  void publish_traced_in_full(Claim& claim);
  void trace_consumer(std::int64_t began, std::uint32_t taken);

  // consumer.cc
  void plan_waiting();
  bool wait_for_item(std::unique_lock<Mutex>& hold, std::chrono::nanoseconds timeout);
  bool help(std::unique_lock<Mutex>& hold);
  void call_lanes_and_spin(std::unique_lock<Mutex>& hold, bool force, std::int64_t until);
  Delivery deliver();
  std::optional<Item> next_in_hand();
  void fill_hand();

  // engine.cc
  std::unique_lock<Mutex> enter(Claim& claim);
  void leave(Chores& chores, bool consumer_is_served = false);  // ends a critical section
  bool quick_under_way(const LaneUse& use);
  int worth_calling();
  void call_lanes(bool consumer_is_served, bool force, Chores& chores);
  bool worth_waking(const Stage& stage, bool consumer_is_served);
  bool enough_at_work();
  void discard_all(bool keep_sink);
  std::string stuck_stages() const;
  // The time of this critical section, read when it is first asked for.
  std::int64_t now() noexcept {
    if (now_ == 0) now_ = now_ns();
    return now_;
  }

  mutable Mutex lock_;
  CondVar consumer_cond_;
  CondVar idle_cond_;  // no task is running any more
  State state_ = State::built;
  std::atomic<bool> stopping_{false};
  bool consumer_waiting_ = false;             // and nobody has called it yet
  std::atomic<bool> consumer_called_{false};  // since it began to wait
  std::int64_t consumer_late_at_ = 0;         // from then on it is called for the first item
  int consumer_passed_over_ = 0;  // chances to wake the waiting consumer that were not taken
  int stop_waiting_ = 0;          // threads inside stop()
  int running_ = 0;               // tasks of all stages
  int cleaning_ = 0;              // threads that are freeing what a critical section discarded
  std::optional<Error> failure_;
  std::vector<FatalFailure> fatal_;
  std::uint64_t processed_ = 0;  // tasks and steps that are over, of all stages
  std::uint64_t failed_ = 0;
  Chores after_;          // of the critical section under way
  std::int64_t now_ = 0;  // the time of this critical section; 0: not read yet

  std::vector<std::unique_ptr<Stage>> stages_;  // nearest the sink first
  std::vector<Stage*> flow_;                    // in the order of the flow
  std::vector<std::unique_ptr<Queue>> queues_;
  Queue* sink_ = nullptr;
  std::atomic<int> sink_hint_{0};  // the sink's size, for a consumer that spins before it sleeps
  Hand hand_;
  std::int64_t left_at_ = 0;  // when the consumer was here the last time
  bool hurries_ = false;      // it came back at once
  Patience patience_;         // the consumer's
  std::int64_t spin_ns_ = 0;  // how long the consumer looks for an item before it sleeps
  bool takes_turns_ = false;  // see plan_waiting()
  std::shared_ptr<PoolState> pool_;
  std::vector<LaneUse> lanes_;  // the pool is the first
  OnFailure on_failure_;
  FailureLimit too_many_failures_;
  std::function<void(const FailureReport&)> report_failure_;
  std::vector<FailureReport> reports_;
  std::size_t kept_failures_;
  bool consumer_helps_ = false;  // with some stage
  const int cores_;
  Claim help_;                  // what the consumer is at
  bool helping_ = false;        // it is
  std::int64_t helped_at_ = 0;  // when it last began to
  SinkStats sink_stats_;
  std::uint64_t sink_traced_as_ = 0;  // recording and number in it
  std::int64_t started_ = 0;
  std::int64_t stopped_ = 0;
  const std::uint64_t process_;  // see fork.h
};

}  // namespace penstock::engine
