// The consumer's side of the sink: getting items, and waiting for them.
#include <algorithm>
#include <mutex>

#include "engine/clock.h"
#include "engine/engine.h"
#include "engine/fork.h"
#include "engine/trace.h"

namespace penstock::engine {

namespace {

// A consumer looks for an item for a moment before it goes to sleep: see plan_waiting().
constexpr std::int64_t kShortSpinNs = 2'000;
constexpr std::int64_t kLongSpinNs = 20'000;
constexpr std::int64_t kTurnSpinNs = 100'000;
constexpr double kOverheadNs = 50;  // of the engine, per task

// A consumer that is back for the next item so soon has nothing else to do.
constexpr std::int64_t kHurryNs = 10'000;

// A waiting consumer sees to it that nothing was forgotten after this long, and then at intervals
// that grow.
constexpr std::int64_t kFirstSliceNs = 1'000'000;
constexpr std::int64_t kLongestSliceNs = 16'000'000;

}  // namespace

Delivery Engine::get_item(std::chrono::nanoseconds timeout, bool back_to_wait) {
  if (process_ != process_number()) return {Delivery::Kind::failed, {}, forked()};
  if (!stopping()) {
    if (std::optional<Item> item = next_in_hand()) {
      return {Delivery::Kind::item, std::move(*item), {}};
    }
  }
  Delivery delivery;
  Chores chores;
  {
    std::unique_lock hold(lock_);
    if (state_ == State::built) {
      return {Delivery::Kind::failed,
              {},
              Error(Code::invalid_argument, "get_item: the pipeline is not running; call start")};
    }
    if (!stopping()) {
      const std::int64_t came = now_ns();
      hurries_ = came - left_at_ < kHurryNs * (1 + hand_.places);
      left_at_ = came;
      sink_->release(std::exchange(hand_.places, 0));  // it is empty
      if (back_to_wait && sink_->empty()) return {Delivery::Kind::timeout, {}, {}};
    }
    const bool traced = tracing() && !stopping();
    const std::int64_t began = left_at_;
    const bool ready = wait_for_item(hold, timeout);
    const bool stopped = stopping();
    const std::uint32_t taken = sink_->popped();
    delivery = deliver();
    if (delivery.kind == Delivery::Kind::item && !stopped) {
      sink_stats_.requests++;
      sink_stats_.ready += ready ? 1 : 0;
      fill_hand();
    }
    plan_waiting();
    left_at_ = now_ns();
    if (traced && tracing()) trace_consumer(began, taken);
    // A consumer that leaves the sink half full will be back before the workers run dry. If it
    // takes turns with them, it calls them when it has nothing left to do itself.
    leave(chores, takes_turns_ ? !sink_->empty() || hand_.places > 0
                               : 2 * sink_->size() >= sink_->capacity());
  }
  carry_out(chores);
  return delivery;
}

// How long it is worth looking for an item before going to sleep, which costs more than a short
// wait: if all stages are quick and the consumer is, twice the time in which they bring the next
// few, unless that is long. If they all run on one lane whose threads exclude one another, and the
// consumer as well (they need the GIL), it takes turns with them.
void Engine::plan_waiting() {
  spin_ns_ = kShortSpinNs;
  takes_turns_ = false;
  if (!hurries_) return;
  double gap_ns = 0;
  for (const auto& stage : stages_) {
    if (!stage->quick()) return;
    gap_ns += stage->mean_ns + kOverheadNs;
  }
  takes_turns_ = std::all_of(stages_.begin(), stages_.end(), [&](const auto& stage) {
    return lanes_[static_cast<std::size_t>(stage->lane)].exclusive;
  });
  gap_ns *= std::min(sink_->capacity(), Stage::kBurst);
  if (takes_turns_) {
    spin_ns_ = kTurnSpinNs;
  } else if (gap_ns < kLongSpinNs / 2) {
    spin_ns_ = static_cast<std::int64_t>(2 * gap_ns);
  }
}

// True: there was no need to wait.
bool Engine::wait_for_item(std::unique_lock<Mutex>& hold, std::chrono::nanoseconds timeout) {
  if (!sink_->empty() || stopping() || timeout.count() == 0) return !sink_->empty();
  const std::int64_t began = now_ns();
  const bool for_ever = timeout.count() < 0 || timeout.count() > kLongestNs;
  const std::int64_t deadline = for_ever ? kLongestNs : began + timeout.count();
  if (consumer_helps_) {
    while (sink_->empty() && !stopping() && now_ns() < deadline && help(hold)) {
    }
    if (!sink_->empty()) {
      sink_stats_.wait_seconds += static_cast<double>(now_ns() - began) * 1e-9;
      return false;
    }
  }
  const std::int64_t waits = now_ns();  // from now on
  consumer_waiting_ = true;
  consumer_late_at_ = waits + kFirstSliceNs;
  consumer_called_.store(false, std::memory_order_relaxed);
  call_lanes_and_spin(hold, false, std::min(deadline, waits + patience_.ns(spin_ns_)));
  std::int64_t slice = kFirstSliceNs;
  // One that takes turns waits until it is called.
  while (!stopping() && (sink_->empty() || (takes_turns_ && consumer_waiting_))) {
    const std::int64_t now = now_ns();
    if (now >= deadline) break;
    const std::int64_t until = std::min(deadline, now + slice);
    consumer_waiting_ = true;
    consumer_cond_.wait_until(lock_, until);
    if (stopping() || now_ns() < until) continue;
    if (!sink_->empty()) break;
    // A task that used to be quick may be slow this time, and the wake-ups it was to save are
    // missing now. They are made up for, less and less often.
    slice = std::min(2 * slice, kLongestSliceNs);
    call_lanes_and_spin(hold, true, 0);
  }
  consumer_waiting_ = false;
  sink_stats_.wait_seconds += static_cast<double>(now_ns() - began) * 1e-9;
  return false;
}

// Carries out one task, if there is a short one: a consumer that sleeps and is called costs more.
bool Engine::help(std::unique_lock<Mutex>& hold) {
  if (helping_) return false;  // another thread that consumes is at it
  Claim& claim = help_;
  Chores chores;
  now_ = 0;
  if (!claim_next(0, 1, claim, true)) return false;
  helping_ = true;
  helped_at_ = claim.started;
  claim.trace_ring = nullptr;  // may be another thread's
  leave(chores);
  hold.unlock();
  carry_out(chores);
  run(claim, pool_->threads());
  hold = enter(claim);
  publish(claim);
  helping_ = false;
  leave(chores);
  hold.unlock();
  carry_out(chores);
  hold.lock();
  return true;
}

// Calls whoever could bring an item, and looks out for it until then, without the lock.
void Engine::call_lanes_and_spin(std::unique_lock<Mutex>& hold, bool force, std::int64_t until) {
  Chores chores;
  now_ = 0;
  call_lanes(false, force, chores);
  now_ = 0;
  const bool takes_turns = takes_turns_;
  hold.unlock();
  carry_out(chores);
  const auto nothing = [&] {
    if (consumer_called_.load(std::memory_order_relaxed)) return false;
    return takes_turns || sink_hint_.load(std::memory_order_relaxed) == 0;
  };
  while (nothing() && now_ns() < until) {
    for (int i = 0; i < 16 && nothing(); ++i) relax();
  }
  const bool in_time = now_ns() < until;  // and without having been interrupted
  hold.lock();
  if (!force) in_time ? patience_.found() : patience_.gave_up();
}

std::optional<Item> Engine::next_in_hand() {
  std::lock_guard hold(hand_.lock);
  if (hand_.next == hand_.items.size()) return std::nullopt;
  hand_.delivered++;
  return std::move(hand_.items[hand_.next++]);
}

// While items come quickly, a consumer that hurries takes half a sink of them at once. For another
// one the sink is kept full.
void Engine::fill_hand() {
  if (!hurries_) return;
  const auto quick = [](const Stage* producer) { return producer->quick(); };
  if (!std::all_of(sink_->producers.begin(), sink_->producers.end(), quick)) return;
  std::lock_guard hold(hand_.lock);
  if (stopping() || hand_.next < hand_.items.size()) return;  // what is left there comes first
  hand_.items.clear();
  hand_.next = 0;
  while (hand_.places < sink_->capacity() / 2 && !sink_->empty()) {
    Item& head = sink_->front();
    if (head.is<Mark>() || head.is<Failure>()) break;
    sink_->sample_size();
    hand_.items.push_back(sink_->pop());
    sink_->reserve(1);
    hand_.places++;
  }
}

// What lies at the head of the sink, for the consumer.
Delivery Engine::deliver() {
  if (stopping()) {
    if (state_ == State::stopped) {
      if (std::optional<Item> item = next_in_hand()) {
        return {Delivery::Kind::item, std::move(*item), {}};
      }
    }
    if (state_ != State::stopped || sink_->empty()) {
      return {
          Delivery::Kind::failed, {}, Error(Code::closed, "get_item: the pipeline was stopped")};
    }
  }
  if (sink_->empty()) return {Delivery::Kind::timeout, {}, {}};
  Item& head = sink_->front();
  if (const Mark* mark = head.get_if_is<Mark>()) {
    if (*mark == Mark::end) {  // stays, for the next time it is asked for
      if (failure_) return {Delivery::Kind::failed, {}, *failure_};
      return {Delivery::Kind::end, {}, {}};
    }
    sink_->pop();
    return {Delivery::Kind::epoch_end, {}, {}};
  }
  sink_->sample_size();
  Item item = sink_->pop();
  for (Stage* producer : sink_->producers) {
    if (producer->condition == Condition::blocked) producer->touch(now());
  }
  if (Failure* failure = item.get_if_is<Failure>()) {
    // What comes after a delivered failure is not delivered: the failure is the end.
    Error error = std::move(failure->error);
    for (Stage* producer : sink_->producers) mute(*producer);
    drop_queue(*sink_);
    sink_->push(Item::of(Mark::end));
    failure_.emplace(error);
    return {Delivery::Kind::failed, {}, std::move(error)};
  }
  return {Delivery::Kind::item, std::move(item), {}};
}

}  // namespace penstock::engine
