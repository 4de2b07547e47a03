#include "engine/trace.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <set>

#include "engine/clock.h"
#include "engine/engine.h"
#include "engine/fork.h"
#include "engine/lock.h"

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

// As much memory is asked for together when slices come for the first time: a page fault for each
// hundred of them would cost more than they do.
constexpr std::size_t kTogether = std::size_t{64} << 10;

// The last slices of a thread, of one kind.
template <class Slice>
class Last {
 public:
  // Where the next one goes, for the caller to fill in. Null: there is no memory.
  Slice* add() noexcept {
    if (next_ == stop_ && !go_on()) return nullptr;
    __builtin_prefetch(next_ + kAhead, 1);
    return next_++;
  }

  std::uint64_t written() const noexcept {
    return rounds_ * size_ + static_cast<std::size_t>(next_ - slices_.get());
  }

  // Calls use(slice) for each that is there, oldest first, and lets go of them.
  template <class Use>
  void take(Use use) {
    if (rounds_ > 0) std::for_each(next_, end(), use);
    std::for_each(slices_.get(), next_, use);
    slices_.reset();
    size_ = 0;
    rounds_ = 0;
    next_ = stop_ = nullptr;
  }

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(Slice* slices) const noexcept { munmap(slices, bytes); }
  };
  Slice* end() const noexcept { return slices_.get() + size_; }

  bool set_aside(std::size_t most) noexcept {
    const std::size_t bytes = most * sizeof(Slice);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    (void)madvise(memory, bytes, MADV_NOHUGEPAGE);  // most threads need little of it
    slices_ = {static_cast<Slice*>(memory), Unmap{bytes}};
    size_ = most;
    rounds_ = 0;
    next_ = stop_ = slices_.get();
    return true;
  }

  // Behind the memory that is there: fetches more of it, or begins again.
  [[gnu::noinline]] bool go_on() noexcept {
    if (slices_ == nullptr && !set_aside(slices_of_a_ring.load(std::memory_order_relaxed))) {
      return false;
    }
    if (next_ == end()) {
      next_ = slices_.get();
      stop_ = end();
      ++rounds_;
      return true;
    }
    stop_ += std::min<std::ptrdiff_t>(kTogether / sizeof(Slice), end() - next_);
#ifdef MADV_POPULATE_WRITE  // refused by older systems: then there are page faults
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(next_) / page * page;
    const auto size = reinterpret_cast<std::uintptr_t>(stop_) - first;
    (void)madvise(reinterpret_cast<void*>(first), size, MADV_POPULATE_WRITE);
#endif
    return true;
  }

  // A write that has to wait for memory holds up all that come after it.
  static constexpr std::size_t kAhead = 128 / sizeof(Slice) + 1;

  std::unique_ptr<Slice[], Unmap> slices_;  // set aside at once, touched when needed
  std::size_t size_ = 0;
  std::uint64_t rounds_ = 0;
  Slice* next_ = nullptr;
  Slice* stop_ = nullptr;  // where the memory ends that is there
};

}  // namespace

struct TraceRing {
  std::string thread;
  Last<PlainTask> plain;
  Last<TraceSlice> others;
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
    if (process_ != process_number()) return nullptr;
    std::lock_guard hold(lock_);
    if (recording_number.exchange(0) == 0) return nullptr;
    if (!slices_need_fences.load()) membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    auto recording = std::make_unique<Recording>();
    recording->start = start_;
    for (const auto& ring : all_) {
      while (ring->busy.load()) relax();
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
  std::uint64_t process_ = process_number();
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

// Fills in the next one of `last`, a part of `ring`, if this recording is still under way; 0:
// whichever is. In place: what was written piece by piece is slow to copy at once.
template <class Slice, class Fill>
[[gnu::always_inline]] inline void add_to(TraceRing* ring, Last<Slice> TraceRing::*last,
                                          std::uint32_t recording, const Fill& fill) noexcept {
  if (ring == nullptr) return;
  if (slices_need_fences.load(std::memory_order_relaxed)) {
    ring->busy.store(true, std::memory_order_seq_cst);
  } else {
    ring->busy.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  const std::uint32_t current = recording_number.load();
  if (recording == 0 ? current != 0 : current == recording) {
    if (Slice* slice = (ring->*last).add()) fill(slice);
  }
  ring->busy.store(false, std::memory_order_release);
}

// The number in the recording under way of what `as` belongs to; 0: it has none. `made` describes
// it, once for each recording. Under the engine's lock.
template <class Made>
std::uint16_t number_of(std::uint64_t& as, const Made& made) {
  const std::uint64_t recording = recording_number.load(std::memory_order_relaxed);
  if (as >> 32 != recording) {
    if (recording == 0) return 0;  // it has just ended
    const PlainStage stage = made();
    as = recording << 32 | (stage.name == nullptr ? 0 : rings().number(stage));
  }
  return static_cast<std::uint16_t>(as);
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

bool may_be_plain(const Claim& claim) {
  return (claim.what == Claim::What::items || claim.what == Claim::What::poll) && claim.ran &&
         claim.errors.empty();
}

}  // namespace

void trace(const TraceSlice& slice) noexcept {
  add_to(own_ring(), &TraceRing::others, 0, [&](TraceSlice* to) { std::construct_at(to, slice); });
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
  const std::int64_t ended = claim.ended != 0 ? claim.ended : now();
  Stage& stage = *claim.stage;
  std::uint16_t number = 0;
  if (may_be_plain(claim) && fits(ended - claim.started)) {
    number = number_of(stage.traced_as, [&] { return plain_stage(stage); });
  }
  if (number == 0) {
    TracedClaim traced(claim, ended);
    settle(claim);
    traced.published();
    return;
  }
  const bool poll = claim.what == Claim::What::poll;
  const std::int64_t started = claim.started;
  const std::uint64_t position = poll ? stage.items_out : claim.position;
  const std::size_t count = poll ? claim.out.size() : static_cast<std::size_t>(claim.count);
  const std::uint32_t taken = claim.taken;
  const Queue& queue = *stage.out[0];
  const std::uint32_t sent = queue.pushed();
  const auto recording = static_cast<std::uint32_t>(stage.traced_as >> 32);
  settle(claim);
  if (claim.trace_ring == nullptr) claim.trace_ring = own_ring();
  add_to(claim.trace_ring, &TraceRing::plain, recording, [&](PlainTask* to) {
    to->start = started;
    to->position = position;
    to->nanoseconds = static_cast<std::uint32_t>(ended - started);
    to->taken = taken;
    to->sent = sent;
    to->stage = number;
    to->count = static_cast<std::uint8_t>(count);
    to->sent_count = static_cast<std::uint8_t>(std::min(queue.pushed() - sent, 255u));
  });
}

// What the consumer has waited for, and what it has taken.
void Engine::trace_consumer(std::int64_t began, std::uint32_t taken) {
  static const auto* name = new std::string("get_item");
  const std::uint32_t count = sink_->popped() - taken;
  if (fits(left_at_ - began) && count <= std::numeric_limits<std::uint8_t>::max()) {
    const std::uint16_t number = number_of(sink_traced_as_, [&] {
      return PlainStage{TraceSlice::Kind::consumer, name, sink_->number, 0};
    });
    if (number != 0) {
      const auto recording = static_cast<std::uint32_t>(sink_traced_as_ >> 32);
      add_to(own_ring(), &TraceRing::plain, recording, [&](PlainTask* to) {
        const auto nanoseconds = static_cast<std::uint32_t>(left_at_ - began);
        *to = {began,
               sink_stats_.requests,
               nanoseconds,
               taken,
               0,
               number,
               static_cast<std::uint8_t>(count),
               0};
      });
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
