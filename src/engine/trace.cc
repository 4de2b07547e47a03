#include "engine/trace.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "engine/clock.h"
#include "engine/engine.h"
#include "engine/fork.h"
#include "engine/lock.h"
#include "engine/trace_ring.h"

namespace penstock::engine {

std::atomic<std::uint32_t> recording_number{0};

namespace {

// A thread marks its ring as busy and then looks whether there is still a recording; who ends it
// does the same the other way round. One side needs no fence if the other can make all threads pass
// one, which is a system call. Where that is refused, each slice pays for its own.
std::atomic<bool> slices_need_fences{false};

bool membarrier(int command) noexcept {
  return syscall(SYS_membarrier, command, 0, 0) == 0;
}

// How many a thread keeps of each kind.
std::atomic<std::size_t> slices_of_a_ring{0};

}  // namespace

struct TraceRing {
  std::string thread;
  LastSlices<PlainTask> plain;
  LastSlices<TraceSlice> others;
  std::atomic<bool> busy{false};  // its thread is in the middle of a slice
};

namespace {

std::string thread_name() {
  if (gettid() == getpid()) return "main thread";
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return name;
}

// What plain tasks are of.
struct PlainStage {
  TraceSlice::Kind kind = TraceSlice::Kind::task;
  const std::string* name = nullptr;
  std::uint32_t in = 0;  // its queues; 0: it has none
  std::uint32_t out = 0;
};

class Rings {
 public:
  // Null in a forked child, whose copy of the lock may be held for ever.
  std::shared_ptr<TraceRing> join() {
    if (process_ != process_number()) return nullptr;
    auto ring = std::make_shared<TraceRing>();
    ring->thread = thread_name();
    std::lock_guard hold(lock_);
    all_.push_back(ring);
    return ring;
  }

  bool begin(std::size_t slices) {
    // A forked child has one thread; whoever held the lock is not there to give it back.
    if (process_ != process_number()) std::construct_at(&lock_);
    std::lock_guard hold(lock_);
    if (tracing()) return false;
    process_ = process_number();
    slices_of_a_ring.store(slices);
    std::erase_if(all_,
                  [](const auto& ring) { return ring.use_count() == 1; });  // its thread ended
    stages_.assign(1, {});  // the first has no number
    slices_need_fences.store(!membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED));
    start_ = now_ns();
    if (++last_number_ == 0) ++last_number_;
    recording_number.store(last_number_);
    return true;
  }

  std::unique_ptr<Recording> end() {
    if (process_ != process_number()) {
      recording_number.store(0);  // what a forked child has was recorded by its parent
      return nullptr;
    }
    std::lock_guard hold(lock_);
    if (recording_number.exchange(0) == 0) return nullptr;
    if (!slices_need_fences.load()) membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    auto recording = std::make_unique<Recording>();
    recording->start = start_;
    for (const auto& ring : all_) {
      wait_for(*ring);
      if (ring->plain.written() + ring->others.written() > 0) {
        recording->lanes.push_back(take(*ring));
      }
    }
    return recording;
  }

  const std::string* name(const std::string& name) {
    std::lock_guard hold(lock_);
    return &*names_.insert(name).first;
  }

  // Its number in the recording under way; 0: there are too many.
  std::uint16_t number(const PlainStage& stage) {
    std::lock_guard hold(lock_);
    if (stages_.size() > std::numeric_limits<std::uint16_t>::max()) return 0;
    stages_.push_back(stage);
    return static_cast<std::uint16_t>(stages_.size() - 1);
  }

 private:
  // For a moment, unless its thread has lost its core there.
  static void wait_for(const TraceRing& ring) {
    for (int looks = 0; ring.busy.load(); ++looks)
      looks < 1000 ? relax() : std::this_thread::yield();
  }

  TraceSlice in_full(const PlainTask& task) const {
    const PlainStage& stage = stages_[task.stage];
    TraceSlice slice;
    slice.kind = stage.kind;
    slice.count = task.count;
    slice.start = task.start;
    slice.end = task.start + task.nanoseconds;
    slice.name = stage.name;
    slice.position = task.position;
    if (stage.in != 0) slice.in = {task.taken, stage.in, task.count};
    slice.out = {task.sent, stage.out, task.sent_count};
    return slice;
  }

  TraceLane take(TraceRing& ring) const {
    std::vector<TraceSlice> plain, others;
    const std::uint64_t written = ring.plain.written() + ring.others.written();
    ring.plain.take([&](const PlainTask& task) { plain.push_back(in_full(task)); });
    ring.others.take([&](const TraceSlice& slice) { others.push_back(slice); });
    TraceLane lane{ring.thread, {}, 0};
    std::merge(plain.begin(), plain.end(), others.begin(), others.end(),
               std::back_inserter(lane.slices),
               [](const TraceSlice& a, const TraceSlice& b) { return a.end < b.end; });
    const std::size_t most = slices_of_a_ring.load(std::memory_order_relaxed);
    if (lane.slices.size() > most) {
      lane.slices.erase(lane.slices.begin(), lane.slices.end() - static_cast<std::ptrdiff_t>(most));
    }
    lane.lost = written - lane.slices.size();
    return lane;
  }

  std::mutex lock_;
  std::vector<std::shared_ptr<TraceRing>> all_;
  std::set<std::string> names_;
  std::vector<PlainStage> stages_;
  std::uint32_t last_number_ = 0;
  std::int64_t start_ = 0;
  std::atomic<std::uint64_t> process_{process_number()};  // read before the lock is taken
};

Rings& rings() {
  static auto* all = new Rings;  // never destroyed: threads outlive main
  return *all;
}

// This thread's ring: it lives as long as the thread.
TraceRing* own_ring() noexcept {
  thread_local const std::shared_ptr<TraceRing> mine = rings().join();
  return mine.get();
}

// A slice is filled in where it stays: what was written piece by piece is slow to copy at once.
// Between these two the ring is busy, and its memory is there.
[[gnu::always_inline]] inline std::uint32_t begin_slice(TraceRing& ring) noexcept {
  ring.busy.store(true, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (slices_need_fences.load(std::memory_order_relaxed)) [[unlikely]] {
    ring.busy.store(true, std::memory_order_seq_cst);
  }
  return recording_number.load();
}

void end_slice(TraceRing& ring) noexcept {
  ring.busy.store(false, std::memory_order_release);
}

// Where the next plain task goes, of what is recorded as `as` (see number_of); end_slice() must
// follow. Null: it has no number in the recording under way.
[[gnu::always_inline]] inline PlainTask* begin_plain(TraceRing* ring, std::uint64_t as) noexcept {
  if (ring == nullptr || static_cast<std::uint16_t>(as) == 0) return nullptr;
  if (begin_slice(*ring) == as >> 32) {
    if (PlainTask* task = ring->plain.add(slices_of_a_ring)) return task;
  }
  end_slice(*ring);
  return nullptr;
}

// Sees to it that `as` is the recording under way and a number in it, 0 for none. `made` describes
// what it belongs to, once for each recording. Under the engine's lock.
template <class Made>
void number(std::uint64_t& as, const Made& made) {
  const std::uint64_t recording = recording_number.load(std::memory_order_relaxed);
  if (as >> 32 == recording || recording == 0) return;
  const PlainStage stage = made();
  as = recording << 32 | (stage.name == nullptr ? 0 : rings().number(stage));
}

// Without a name: its tasks are not plain.
PlainStage plain_stage(Stage& stage) {
  if (stage.out.size() != 1 || stage.ordered()) return {};
  return {TraceSlice::Kind::task, traced_name(stage), stage.in == nullptr ? 0 : stage.in->number,
          stage.out[0]->number};
}

bool fits(std::int64_t nanoseconds) {
  return nanoseconds <= std::numeric_limits<std::uint32_t>::max();
}

// The same for the first task of a thread, or of a stage in this recording.
[[gnu::noinline]] PlainTask* begin_first_plain(Claim& claim) {
  Stage& stage = *claim.stage;
  claim.trace_ring = own_ring();
  number(stage.traced_as, [&] { return plain_stage(stage); });
  return begin_plain(claim.trace_ring, stage.traced_as);
}

bool may_be_plain(const Claim& claim, std::int64_t took) {
  return (claim.what == Claim::What::items || claim.what == Claim::What::poll) && claim.ran &&
         claim.errors.empty() && fits(took);
}

}  // namespace

void trace(const TraceSlice& slice) noexcept {
  TraceRing* ring = own_ring();
  if (ring == nullptr) return;
  if (begin_slice(*ring) != 0) {
    if (TraceSlice* to = ring->others.add(slices_of_a_ring)) std::construct_at(to, slice);
  }
  end_slice(*ring);
}

const std::string* traced_name(Stage& stage) {
  const std::string* name = stage.traced_name.load(std::memory_order_relaxed);
  if (name == nullptr) {
    name = rings().name(stage.spec.name);
    stage.traced_name.store(name, std::memory_order_relaxed);
  }
  return name;
}

std::uint32_t next_queue_number() noexcept {
  static std::atomic<std::uint32_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

bool begin_recording(std::size_t slices) {
  return rings().begin(slices);
}

std::unique_ptr<Recording> end_recording() {
  return rings().end();
}

void Engine::publish_traced(Claim& claim) {
  Stage& stage = *claim.stage;
  const std::int64_t took = (claim.ended != 0 ? claim.ended : now()) - claim.started;
  if (!may_be_plain(claim, took)) return publish_traced_in_full(claim);
  PlainTask* task = begin_plain(claim.trace_ring, stage.traced_as);
  if (task == nullptr) [[unlikely]] {
    task = begin_first_plain(claim);
    if (task == nullptr) return publish_traced_in_full(claim);
  }
  // What is known by now is written at once, how much was sent when it is published.
  const Queue& queue = *stage.out[0];
  const std::uint32_t sent = queue.pushed();
  const bool poll = claim.what == Claim::What::poll;
  const std::size_t count = poll ? claim.out.size() : static_cast<std::size_t>(claim.count);
  task->start = claim.started;
  task->position = poll ? stage.items_out : claim.position;
  task->nanoseconds = static_cast<std::uint32_t>(took);
  task->taken = claim.taken;
  task->sent = sent;
  task->stage = static_cast<std::uint16_t>(stage.traced_as);
  task->count = static_cast<std::uint8_t>(count);
  settle(claim);
  task->sent_count = static_cast<std::uint8_t>(std::min(queue.pushed() - sent, 255u));
  end_slice(*claim.trace_ring);
}

void Engine::publish_traced_in_full(Claim& claim) {
  TracedClaim traced(claim, claim.ended != 0 ? claim.ended : now());
  settle(claim);
  traced.published();
}

// What the consumer has waited for, and what it has taken.
void Engine::trace_consumer(std::int64_t began, std::uint32_t taken) {
  static const auto* name = new std::string("get_item");
  const std::uint32_t count = sink_->popped() - taken;
  if (fits(left_at_ - began) && count <= std::numeric_limits<std::uint8_t>::max()) {
    number(sink_traced_as_, [&] {
      return PlainStage{TraceSlice::Kind::consumer, name, sink_->number, 0};
    });
    TraceRing* ring = own_ring();
    if (PlainTask* to = begin_plain(ring, sink_traced_as_)) {
      const auto nanoseconds = static_cast<std::uint32_t>(left_at_ - began);
      const auto number = static_cast<std::uint16_t>(sink_traced_as_);
      const auto items = static_cast<std::uint8_t>(count);
      *to = {began, sink_stats_.requests, nanoseconds, taken, 0, number, items, 0};
      end_slice(*ring);
      return;
    }
  }
  TraceSlice slice;
  slice.kind = TraceSlice::Kind::consumer;
  slice.start = began;
  slice.end = left_at_;
  slice.name = name;
  slice.position = sink_stats_.requests;
  slice.count = count;
  slice.in = {taken, sink_->number, count};
  trace(slice);
}

TracedClaim::TracedClaim(const Claim& claim, std::int64_t ended) : stage_(*claim.stage) {
  TraceSlice& slice = slice_;
  slice.elsewhere = !claim.ran;
  slice.start = claim.started;
  slice.end = ended;
  slice.name = traced_name(stage_);
  slice.failed = static_cast<std::uint32_t>(claim.errors.size());
  switch (claim.what) {
    case Claim::What::items:
      slice.position = claim.position;
      slice.count = static_cast<std::uint32_t>(claim.count);
      slice.in = {claim.taken, stage_.in->number, slice.count};
      break;
    case Claim::What::poll:
      slice.position = stage_.items_out;
      slice.count = static_cast<std::uint32_t>(claim.out.size());
      break;
    case Claim::What::rows:  // run() has traced them; there are none if others were faster
      slice.kind = claim.traced_until > 0 ? TraceSlice::Kind::outputs : TraceSlice::Kind::rows;
      if (claim.traced_until > 0) slice.end = claim.traced_until;
      slice.batch = claim.ticket->number;
      slice.in = {claim.ticket->taken, stage_.in->number, claim.traced_until > 0 ? 0u : 1u};
      must_send_ = true;
      break;
    default:
      slice.position = claim.task ? claim.task->position : stage_.items_in;
      slice.count = 1;
  }
  for (Queue* queue : stage_.out) queue->note_pushed();
}

void TracedClaim::published() {
  for (const Queue* queue : stage_.out) {
    const std::uint32_t sent = queue->pushed_since_note();
    if (sent == 0) continue;
    const TraceItems out{queue->noted(), queue->number, sent};
    if (slice_.out.count > 0) {
      trace(slice_);
      slice_.kind = TraceSlice::Kind::outputs;
      slice_.in = {};
    }
    slice_.out = out;
  }
  if (slice_.out.count > 0 || !must_send_) trace(slice_);
}

}  // namespace penstock::engine
