#include "engine/trace.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <set>

#include "engine/clock.h"
#include "engine/engine.h"
#include "engine/fork.h"

namespace penstock::engine {

std::atomic<bool> trace_is_on{false};

namespace {

struct Ring {
  std::string thread;
  std::vector<TraceSlice> slices;  // the memory is set aside at once, and touched when needed
  std::size_t size = 0;
  std::uint64_t written = 0;
  std::atomic<bool> busy{false};  // its thread is in the middle of a slice

  void add(const TraceSlice& slice, std::size_t most) noexcept {
    if (written == 0) {
      try {
        slices.clear();
        slices.reserve(size = most);
      } catch (const std::bad_alloc&) {
        return;
      }
    }
    if (slices.size() < size) {
      slices.push_back(slice);
    } else {
      slices[written % size] = slice;
    }
    ++written;
  }
};

std::string thread_name() {
  if (gettid() == getpid()) return "main thread";
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return name;
}

class Rings {
 public:
  // Null in a forked child, whose copy of the lock may be held for ever.
  std::shared_ptr<Ring> join() {
    if (process_ != process_number()) return nullptr;
    auto ring = std::make_shared<Ring>();
    ring->thread = thread_name();
    std::lock_guard hold(lock_);
    all_.push_back(ring);
    return ring;
  }

  bool begin(std::size_t slices) {
    std::lock_guard hold(lock_);
    if (trace_is_on.load()) return false;
    process_ = process_number();
    size_.store(slices);
    std::erase_if(all_,
                  [](const auto& ring) { return ring.use_count() == 1; });  // its thread ended
    for (const auto& ring : all_) ring->written = 0;
    start_ = now_ns();
    trace_is_on.store(true);
    return true;
  }

  std::unique_ptr<Recording> end() {
    if (process_ != process_number()) return nullptr;
    std::lock_guard hold(lock_);
    if (!trace_is_on.exchange(false)) return nullptr;
    auto recording = std::make_unique<Recording>();
    recording->start = start_;
    for (const auto& ring : all_) {
      while (ring->busy.load()) relax();
      if (ring->written > 0) recording->lanes.push_back(take(*ring));
    }
    return recording;
  }

  const std::string* name(const std::string& name) {
    std::lock_guard hold(lock_);
    return &*names_.insert(name).first;
  }

  std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

 private:
  static TraceLane take(Ring& ring) {
    TraceLane lane{ring.thread, {}, 0};
    const std::uint64_t kept = std::min<std::uint64_t>(ring.written, ring.size);
    lane.lost = ring.written - kept;
    lane.slices.reserve(kept);
    for (std::uint64_t i = lane.lost; i < ring.written; ++i) {
      lane.slices.push_back(ring.slices[i % ring.size]);
    }
    ring.slices = {};
    ring.written = 0;
    return lane;
  }

  std::mutex lock_;
  std::vector<std::shared_ptr<Ring>> all_;
  std::set<std::string> names_;
  std::atomic<std::size_t> size_{0};
  std::int64_t start_ = 0;
  std::uint64_t process_ = process_number();
};

Rings& rings() {
  static auto* all = new Rings;  // never destroyed: threads outlive main
  return *all;
}

}  // namespace

void trace(const TraceSlice& slice) noexcept {
  thread_local std::shared_ptr<Ring> mine;
  if (mine == nullptr) mine = rings().join();
  if (mine == nullptr) return;
  Ring& ring = *mine;
  ring.busy.store(true);
  if (trace_is_on.load()) {
    ring.add(slice, rings().size());
  }
  ring.busy.store(false, std::memory_order_release);
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

TracedClaim::TracedClaim(const Claim& claim, std::int64_t ended) : stage_(*claim.stage) {
  slice_.elsewhere = !claim.ran;
  slice_.start = claim.started;
  slice_.end = ended;
  slice_.name = traced_name(stage_);
  slice_.failed = static_cast<std::uint32_t>(claim.errors.size());
  switch (claim.what) {
    case Claim::What::items:
      slice_.position = claim.position;
      slice_.count = static_cast<std::uint32_t>(claim.count);
      slice_.in = {claim.taken, stage_.in->number, slice_.count};
      break;
    case Claim::What::poll:
      slice_.position = stage_.items_out;
      slice_.count = static_cast<std::uint32_t>(claim.out.size());
      break;
    case Claim::What::rows:  // run() has traced them; there are none if others were faster
      slice_.kind = claim.traced_until > 0 ? TraceSlice::Kind::outputs : TraceSlice::Kind::rows;
      if (claim.traced_until > 0) slice_.end = claim.traced_until;
      slice_.batch = claim.ticket->number;
      slice_.in = {claim.ticket->taken, stage_.in->number, claim.traced_until > 0 ? 0u : 1u};
      must_send_ = true;
      break;
    default:
      slice_.position = claim.task ? claim.task->position : stage_.items_in;
      slice_.count = 1;
  }
  for (Queue* queue : stage_.out) queue->note_pushed();
}

void TracedClaim::published() {
  for (const Queue* queue : stage_.out) {
    const std::uint64_t sent = queue->pushed_since_note();
    if (sent == 0) continue;
    const TraceItems out{queue->noted(), queue->number, static_cast<std::uint32_t>(sent)};
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
