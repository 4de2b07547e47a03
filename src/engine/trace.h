// The recording part of a trace: see penstock/trace.h for what it is.
//
// A thread's slices lie in rings that only this thread writes: plain tasks in 32 bytes each, all
// others in full. Who ends the trace switches it off and waits until no thread is in the middle of
// a slice; then it may read. Items in a queue are numbered by their order in it, so that both ends
// of an arrow know its number without touching the item.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace penstock::engine {

struct Claim;
class Queue;
struct Stage;
struct TraceRing;

// Items of one queue: so many, from this number on. Numbers begin again after 2^32, which is more
// than a trace holds.
struct TraceItems {
  std::uint32_t first = 0;
  std::uint32_t queue = 0;
  std::uint32_t count = 0;
};

struct TraceSlice {
  enum class Kind : std::uint8_t { task, rows, consumer, gil, outputs };
  Kind kind = Kind::task;  // outputs: no slice, but more that the last one has sent
  bool elsewhere = false;  // may overlap with others of the same thread
  std::uint32_t count = 0;
  std::uint32_t failed = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
  const std::string* name = nullptr;
  std::uint64_t position = 0;  // of the first item or row
  std::uint64_t batch = 0;     // for rows
  TraceItems in, out;
};

// A task of a stage that has one queue behind it, with nothing to be said about it: as most are. Or
// what the consumer has taken.
struct PlainTask {
  std::int64_t start = 0;
  std::uint64_t position = 0;
  std::uint32_t nanoseconds = 0;
  std::uint32_t taken = 0;  // number of the first item it has taken
  std::uint32_t sent = 0;   // and of the first it has sent
  std::uint16_t stage = 0;  // its number in the recording
  std::uint8_t count = 0;
  std::uint8_t sent_count = 0;
};
static_assert(sizeof(PlainTask) == 32);

// What one thread has recorded, oldest first.
struct TraceLane {
  std::string thread;
  std::vector<TraceSlice> slices;
  std::uint64_t lost = 0;  // older ones that were overwritten
};

struct Recording {
  std::int64_t start = 0;
  std::vector<TraceLane> lanes;
};

// The number of the recording under way; 0: there is none. Every thread looks at this: it is on a
// cache line that is hardly ever written.
extern std::atomic<std::uint32_t> recording_number;
inline bool tracing() noexcept {
  return recording_number.load(std::memory_order_relaxed) != 0;
}

void trace(const TraceSlice& slice) noexcept;

// The stage's name, to stay for as long as the process lives.
const std::string* traced_name(Stage& stage);

// A claim that is about to be published, under the engine's lock, whose task is not plain: notes
// what it was and, once it is published, what it has sent.
class TracedClaim {
 public:
  TracedClaim(const Claim& claim, std::int64_t ended);
  void published();

 private:
  Stage& stage_;
  TraceSlice slice_;
  bool must_send_ = false;  // there is nothing to show if it has not sent anything
};

std::uint32_t next_queue_number() noexcept;

// False: there is a trace already.
bool begin_recording(std::size_t slices);
// Nothing: there was none.
std::unique_ptr<Recording> end_recording();

}  // namespace penstock::engine
