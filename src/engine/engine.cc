// The engine's life: start, stop, wake-ups.
#include "engine/engine.h"

#include <cxxabi.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "engine/clock.h"
#include "engine/fork.h"
#include "engine/trace.h"

namespace penstock::engine {

namespace {

// How long a worker stays with one pipeline before it looks at the others of its pool.
constexpr std::int64_t kTurnNs = 1'000'000;

// A second thread has to bring more than it costs: a wake-up, a sleep, and taking turns at the
// lock.
constexpr double kWorthWakingNs = 10'000;

// A waiting consumer is called at the latest after so many results.
constexpr int kPassedOver = 64;

// See worth_calling().
constexpr double kOftenNs = 250'000;
constexpr int kSeveral = 16;

// A quick task that has lasted this long is not quick this time.
constexpr std::int64_t kSoonNs = 200'000;

}  // namespace

void Claim::clear() {
  what = What::nothing;
  stage = nullptr;
  ticket = nullptr;
  count = budget = rows_done = steps = 0;
  task.reset();
  out.clear();
  held.clear();
  errors.clear();
  source_done = epoch_end = ticket_done = uncounted = ran = false;
  traced_until = 0;
}

Engine::Engine(GraphSpec graph, const std::vector<int>& depth, const BuildOptions& options,
               std::shared_ptr<PoolState> pool)
    : pool_(std::move(pool)),
      on_failure_(options.on_failure),
      too_many_failures_(options.too_many_failures),
      report_failure_(options.report_failure),
      kept_failures_(options.kept_failures),
      cores_(static_cast<int>(usable_cores())),
      process_(process_number()) {
  lanes_.push_back({pool_});
  std::vector<Stage*> by_id;
  for (StageSpec& spec : graph.stages) {
    auto stage = std::make_unique<Stage>();
    stage->spec = std::move(spec);
    const StageOptions& wanted = stage->spec.options;
    stage->concurrency = wanted.concurrency.value_or(
        stage->spec.kind == Kind::fill ? static_cast<int>(pool_->threads()) : 1);
    stage->out.resize(static_cast<std::size_t>(stage->spec.paths));
    if (wanted.lane != nullptr) {
      auto at = std::find_if(lanes_.begin(), lanes_.end(),
                             [&](const LaneUse& use) { return use.lane == wanted.lane; });
      if (at == lanes_.end()) {
        at = lanes_.insert(lanes_.end(),
                           {wanted.lane, wanted.lane->task_limit(), wanted.lane->exclusive()});
      }
      stage->lane = static_cast<int>(at - lanes_.begin());
    }
    consumer_helps_ = consumer_helps_ || wanted.consumer_helps;
    by_id.push_back(stage.get());
    stages_.push_back(std::move(stage));
  }
  flow_ = by_id;

  // All edges into one stage share its queue.
  std::map<StageId, Queue*> queue_into;
  for (const Edge& edge : graph.edges) {
    Queue*& queue = queue_into[edge.to];
    if (queue == nullptr) {
      queues_.push_back(std::make_unique<Queue>());
      queue = queues_.back().get();
      queue->number = next_queue_number();
      if (edge.to == GraphSpec::kSink) {
        sink_ = queue;
      } else {
        queue->reader = by_id[static_cast<std::size_t>(edge.to)];
        queue->reader->in = queue;
      }
    }
    Stage* producer = by_id[static_cast<std::size_t>(edge.from.stage)];
    queue->producers.push_back(producer);
    producer->out[static_cast<std::size_t>(edge.from.port)] = queue;
  }
  for (const auto& queue : queues_) {
    const bool sink = queue.get() == sink_;
    int capacity = sink ? *graph.sink_size : 1;
    int slack = 0;
    bool may_grow = !sink;  // not where the user gave the size, and not where batches wait
    for (const Stage* producer : queue->producers) {
      const StageSpec& spec = producer->spec;
      if (!sink) capacity = std::max(capacity, spec.options.queue_size.value_or(2));
      may_grow &= !spec.options.queue_size && spec.kind != Kind::fill && !spec.gathers;
      slack += spec.kind == Kind::fill ? 1 : producer->concurrency;
    }
    queue->shape(capacity, may_grow ? Stage::kGrownQueue : capacity, slack);
  }
  std::map<const Stage*, int> distance;
  for (std::size_t i = 0; i < by_id.size(); ++i) distance[by_id[i]] = depth[i];
  std::stable_sort(stages_.begin(), stages_.end(), [&](const auto& a, const auto& b) {
    return distance[a.get()] < distance[b.get()];
  });
  for (const auto& stage : stages_) {
    const auto end = std::find_if(stages_.begin(), stages_.end(), [&](const auto& other) {
      return distance[other.get()] > distance[stage.get()];
    });
    stage->peers_end = end - stages_.begin();
  }
}

Status Engine::start() {
  if (process_ != process_number()) return forked();
  {
    std::lock_guard hold(lock_);
    if (state_ == State::running) {
      return Error(Code::invalid_argument, "start: the pipeline is running already; start it once");
    }
    if (state_ == State::stopped) {
      return Error(Code::closed, "start: the pipeline was stopped; build a new one");
    }
    state_ = State::running;
    started_ = now_ns();
    for (const auto& stage : stages_) stage->touch(stage->since = started_);
  }
  pool_->attach(shared_from_this());
  if (stopping()) pool_->detach(*this);  // stop() came in between and found nothing to detach
  for (const LaneUse& use : lanes_) use.lane->wake();
  return {};
}

void Engine::request_stop() {
  if (process_ != process_number()) return;
  std::lock_guard hold(lock_);
  if (state_ != State::running) return;
  stopping_.store(true);
  consumer_called_.store(true, std::memory_order_relaxed);
  consumer_cond_.notify_all();
}

Status Engine::stop(std::chrono::nanoseconds timeout, bool keep_sink) {
  if (process_ != process_number()) return {};  // nothing of it exists in this process
  std::string stuck;
  Chores chores;
  {
    std::lock_guard hold(lock_);
    if (state_ == State::stopped) return {};
    stopping_.store(true);
    consumer_called_.store(true, std::memory_order_relaxed);
    consumer_cond_.notify_all();
    const std::int64_t deadline = now_ns() + std::min(timeout.count(), kLongestNs);
    stop_waiting_++;
    while (running_ + cleaning_ > 0 && now_ns() < deadline) idle_cond_.wait_until(lock_, deadline);
    stop_waiting_--;
    if (state_ == State::stopped) return {};  // by somebody else, meanwhile
    stuck = stuck_stages();
    state_ = State::stopped;
    stopped_ = now_ns();
    for (const auto& stage : stages_) stage->touch(stopped_);
    discard_all(keep_sink);
    leave(chores);
  }
  pool_->detach(*this);
  carry_out(chores);
  if (stuck.empty()) return {};
  return Error(Code::timeout, "stop: abandoned what is still running in stage " + stuck);
}

std::string Engine::stuck_stages() const {
  std::string names;
  for (const Stage* stage : flow_) {
    if (stage->running > 0) names += (names.empty() ? "" : ", ") + stage->spec.name;
  }
  return names;
}

// Everything that is under way, and the user's functions with what they hold on to. An abandoned
// task keeps its own function and batch.
void Engine::discard_all(bool keep_sink) {
  for (const auto& queue : queues_) {
    if (queue.get() != sink_ || !keep_sink) drop_queue(*queue);
  }
  if (!keep_sink) {
    std::lock_guard hold(hand_.lock);
    for (Item& item : hand_.items) after_.discarded.push_back(std::move(item));
    hand_.items.clear();
    hand_.next = 0;
  }
  sink_hint_.store(1, std::memory_order_relaxed);  // a consumer that spins shall look
  for (const auto& stage : stages_) {
    drop_parked(*stage);
    stage->window.clear([&](Item&& item) { after_.discarded.push_back(std::move(item)); });
    for (auto& ticket : stage->open) {
      if (ticket->workers == 0) after_.discarded.push_back(std::move(ticket->item));
    }
    if (stage->running > 0) continue;
    struct Functions {
      StepFunction step, flush;
      RowCount rows;
      RowFunction row;
    };
    after_.discarded.push_back(Item::of(
        Functions{std::exchange(stage->spec.step, {}), std::exchange(stage->spec.options.flush, {}),
                  std::exchange(stage->spec.rows, {}), std::exchange(stage->spec.row, {})}));
  }
}

bool Engine::work(Claim& claim, unsigned worker) {
  Chores chores;
  bool worked = false;
  bool found;
  std::int64_t turn_ends = 0;
  {
    std::lock_guard hold(lock_);
    found = claim_next(0, Stage::kBurst, claim);
    if (found) turn_ends = claim.started + kTurnNs;
    leave(chores);
  }
  while (found) {
    carry_out(chores);
    run(claim, worker);
    worked = true;
    const auto hold = enter(claim);
    publish(claim);
    found = now() < turn_ends && claim_next(0, Stage::kBurst, claim);
    leave(chores);
  }
  carry_out(chores);
  return worked;
}

// Begins a critical section with the results of a claim. Waiting for the lock is not part of the
// time that its tasks took.
std::unique_lock<Mutex> Engine::enter(Claim& claim) {
  claim.ended = 0;
  std::unique_lock hold(lock_, std::try_to_lock);
  if (!hold) {
    claim.ended = now_ns();
    hold.lock();
  }
  return hold;
}

// Ends a critical section: says who has to be woken up, and gives away what must not be destroyed
// under the lock.
void Engine::leave(Chores& chores, bool consumer_is_served) {
  if (after_.heavy()) {
    if (!chores.heavy()) cleaning_++;  // one carry_out() serves them all
    chores.discarded.insert(chores.discarded.end(),
                            std::make_move_iterator(after_.discarded.begin()),
                            std::make_move_iterator(after_.discarded.end()));
    chores.reports.insert(chores.reports.end(), std::make_move_iterator(after_.reports.begin()),
                          std::make_move_iterator(after_.reports.end()));
    after_.discarded.clear();
    after_.reports.clear();
  }
  if (stop_waiting_ && running_ + cleaning_ == 0) idle_cond_.notify_all();
  sink_hint_.store(sink_->size(), std::memory_order_relaxed);
  if (consumer_waiting_ && !sink_->empty()) {
    // While more is about to come it is called late, so that it finds several items. It looks by
    // itself if that takes long.
    if (sink_->size() >= worth_calling() || sink_->front().is<Mark>() ||
        ++consumer_passed_over_ > kPassedOver || now() >= consumer_late_at_) {
      chores.consumer = true;
      consumer_waiting_ = false;  // called
      consumer_passed_over_ = 0;
    }
  }
  call_lanes(consumer_is_served, false, chores);
  now_ = 0;
}

// A quick task that has lasted for long is not quick this time: nothing can be expected from it.
bool Engine::quick_under_way(const LaneUse& use) {
  return use.quick > 0 && now() - use.quick_at < kSoonNs;
}

// How many items shall wait for the consumer before it is called: several, if that is a matter of
// microseconds, because quick tasks are under way or others that end often.
int Engine::worth_calling() {
  const int half = (sink_->capacity() + 1) / 2;
  const auto quick = [&](const LaneUse& use) { return quick_under_way(use); };
  if (std::any_of(lanes_.begin(), lanes_.end(), quick)) return half;
  const auto often = [](const Stage* stage) {
    return stage->running > 0 && stage->mean_ns >= 0 &&
           stage->mean_ns < kOftenNs * stage->concurrency;
  };
  const auto& producers = sink_->producers;
  return std::any_of(producers.begin(), producers.end(), often) ? std::min(half, kSeveral) : 1;
}

// Which lanes have idle threads for whom there is something to do. `force`: however little it is.
void Engine::call_lanes(bool consumer_is_served, bool force, Chores& chores) {
  if (state_ != State::running || stopping()) return;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (!lanes_[lane].lane->idle()) continue;
    for (const auto& stage : stages_) {
      if (stage->lane != static_cast<int>(lane) || !lane_has_room(*stage)) continue;
      if (!force && !worth_waking(*stage, consumer_is_served)) continue;
      if (!can_claim(*stage)) continue;
      chores.lanes |= std::uint64_t{1} << lane;
      break;
    }
  }
}

// A thread of the lane that runs a quick task will look here again within microseconds, and a
// consumer that finds enough items will not need more before it comes back. Then small amounts of
// quick work are not worth a wake-up, which costs more than they do.
bool Engine::worth_waking(const Stage& stage, bool consumer_is_served) {
  const LaneUse& use = lanes_[static_cast<std::size_t>(stage.lane)];
  if (stage.quick() && use.exclusive && stage.spec.kind == Kind::source) {
    // If all its readers are at work, the first to return asks it for an item by itself.
    const auto busy = [&](const Queue* queue) {
      return queue->reader != nullptr && queue->reader->lane == stage.lane &&
             !queue->reader->has_token();
    };
    if (std::all_of(stage.out.begin(), stage.out.end(), busy)) return false;
  }
  if (consumer_helps_ && stage.lane == 0 && enough_at_work()) return false;
  if (!quick_under_way(use) && !consumer_is_served) return true;
  if (stage.quick() && (use.exclusive || consumer_is_served)) return false;
  return stage.claimable_ns() >= kWorthWakingNs;
}

// A consumer that helps needs a core of its own: one more worker would only take turns with it.
// Whoever is at work looks here again when its task is over, which is soon if all tasks are short.
bool Engine::enough_at_work() {
  if (now() - helped_at_ > kSoonNs) return false;
  if (static_cast<int>(pool_->threads()) > cores_) return false;  // who wants more counts on waits
  const bool counted = helping_ && help_.stage->spec.kind != Kind::source;
  if (lanes_[0].running - (counted ? 1 : 0) < std::max(1, cores_ - 1)) return false;
  return std::all_of(stages_.begin(), stages_.end(),
                     [](const auto& stage) { return stage->lane != 0 || stage->is_short(); });
}

void Engine::carry_out(Chores& chores) {
  if (chores.consumer) {
    consumer_called_.store(true, std::memory_order_relaxed);
    consumer_cond_.notify_one();
  }
  for (std::size_t lane = 0; chores.lanes != 0; ++lane, chores.lanes >>= 1) {
    if (chores.lanes & 1) lanes_[lane].lane->wake();
  }
  chores.consumer = false;
  if (!chores.heavy()) return;
  for (const FailureReport& report : chores.reports) {
    try {
      report_failure_(report);
    } catch (abi::__forced_unwind&) {
      throw;
    } catch (...) {  // a reporter that fails has nobody to tell
    }
  }
  chores.reports.clear();
  chores.discarded.clear();
  std::lock_guard hold(lock_);
  cleaning_--;
  if (stop_waiting_ && running_ + cleaning_ == 0) idle_cond_.notify_all();
}

int Engine::lane_number(const Lane& lane) const {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].lane.get() == &lane) return static_cast<int>(i);
  }
  return -1;
}

bool Engine::has_work(int lane) const {
  std::lock_guard hold(lock_);
  if (state_ != State::running || stopping()) return false;
  return std::any_of(stages_.begin(), stages_.end(), [&](const auto& stage) {
    return stage->lane == lane && lane_has_room(*stage) && can_claim(*stage);
  });
}

bool Engine::has_room(int lane) const {
  std::lock_guard hold(lock_);
  const LaneUse& use = lanes_[static_cast<std::size_t>(lane)];
  return state_ == State::running && !stopping() && use.running < use.limit;
}

bool Engine::begin_call(int lane) {
  std::lock_guard hold(lock_);
  LaneUse& use = lanes_[static_cast<std::size_t>(lane)];
  if (state_ != State::running || stopping() || use.running >= use.limit) return false;
  use.running++;
  running_++;
  return true;
}

void Engine::end_call(int lane, Chores& chores) {
  std::lock_guard hold(lock_);
  lanes_[static_cast<std::size_t>(lane)].running--;
  running_--;
  leave(chores);
}

void Engine::fail(int lane, const Error& error, Chores& chores) {
  std::lock_guard hold(lock_);
  if (state_ != State::running) return;
  for (const auto& stage : stages_) {
    if (stage->lane == lane) fail_from(*stage, error);
  }
  leave(chores);
}

bool Engine::exchange(int lane, Claim& claim, bool more, Chores& chores) {
  const auto hold = enter(claim);
  if (claim.stage != nullptr) publish(claim);
  const bool found = more && claim_next(lane, 1, claim);
  leave(chores);
  return found;
}

void Engine::wake(ParkedTask& task) {
  if (process_ != process_number()) return;
  Chores chores;
  {
    std::lock_guard hold(lock_);
    task.woken = true;
    if (!task.parked) return;  // its step has not returned yet; publish will see the flag
    Stage& stage = *task.stage;
    const auto at = std::find_if(stage.blocked.begin(), stage.blocked.end(),
                                 [&](const auto& one) { return one.get() == &task; });
    if (at == stage.blocked.end()) return;
    stage.ready.push_back(std::move(*at));
    stage.blocked.erase(at);
    leave(chores);
  }
  carry_out(chores);
}

}  // namespace penstock::engine

namespace penstock {

void Waker::wake() const {
  if (task_ == nullptr) return;
  if (const auto engine = task_->engine.lock()) engine->wake(*task_);
}

Waker Context::waker() {
  if (parked_ == nullptr) {
    parked_ = std::make_shared<engine::ParkedTask>();
    parked_->engine = engine_->weak_from_this();
    parked_->stage = stage_;
  }
  return Waker(parked_);
}

bool Context::stopping() const noexcept {
  return engine_->stopping();
}

FailureLimit at_most(std::int64_t n) {
  if (n < 0) return {};
  return [n](const FailureCounts& counts) { return counts.failed > static_cast<std::uint64_t>(n); };
}

}  // namespace penstock
