// A slot pipeline: batches of 256 rows, filled in place by all workers, delivered in order.
//
// The source admits a batch when the pool has room for all of it. Position p of the shuffled order
// belongs to batch p / 256, slot p % 256, so a row knows where to write and nothing is copied.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "penstock/buffer.h"
#include "penstock/permutation.h"
#include "penstock/pipeline.h"

namespace {

constexpr std::uint64_t kRecords = 100'000;
constexpr std::size_t kSlots = 256;
constexpr std::size_t kRowFloats = 16;
constexpr std::size_t kBatchBytes = kSlots * kRowFloats * sizeof(float);
constexpr std::size_t kBudget = 4 * kBatchBytes;

// clang-format off
struct Batch {
  std::uint64_t first = 0;             // position of slot 0
  std::vector<std::uint64_t> records;  // which record goes to which slot
  penstock::Buffer slots;
};
using Ticket = std::unique_ptr<Batch>;

// Stands for reading and decoding a record.
penstock::Status write_row(Batch& batch, std::size_t slot) {
  float* row = reinterpret_cast<float*>(batch.slots.data()) + slot * kRowFloats;
  for (std::size_t i = 0; i < kRowFloats; ++i) row[i] = static_cast<float>(batch.records[slot] + i);
  return {};
}

class Batches {
 public:
  Batches(penstock::BufferPool& pool, penstock::Permutation order) : pool_(pool), order_(order) {}

  penstock::Step operator()(penstock::Context& ctx) {
    if (next_ == kRecords) return penstock::Step::done;
    // Listen first: room that comes between a failed try and the listening would be missed.
    if (!listener_) {
      listener_ = std::make_shared<penstock::RoomListener>(
          pool_.on_room([waker = ctx.waker()] { waker.wake(); }));
    }
    auto reservation = pool_.try_reserve(kBatchBytes);
    if (!reservation) return penstock::Step::blocked;  // the worker goes; the waker calls us back

    auto slots = reservation->allocate(kBatchBytes);
    if (!slots.ok()) return ctx.fail(slots.error());
    auto batch = std::make_unique<Batch>();
    batch->first = next_;
    batch->records.resize(std::min<std::uint64_t>(kSlots, kRecords - next_));
    if (auto filled = order_.fill(next_, batch->records); !filled.ok()) return ctx.fail(filled.error());
    batch->slots = std::move(*slots);
    next_ += batch->records.size();
    ctx.emit(penstock::Item::of(std::move(batch)));
    return penstock::Step::again;
  }

 private:
  penstock::BufferPool& pool_;
  penstock::Permutation order_;
  std::uint64_t next_ = 0;
  std::shared_ptr<penstock::RoomListener> listener_;  // shared: a step function can be copied
};
// clang-format on

}  // namespace

int main() {
  penstock::BufferPool pool(kBudget);
  auto order = penstock::Permutation::make(kRecords, /*seed=*/7);
  if (!order.ok()) return 1;

  // clang-format off
  penstock::PipelineBuilder builder;
  builder.add_source("positions", Batches(pool, *order));
  builder.fill<Ticket>("rows",
                       [](const Ticket& batch) { return batch->records.size(); },
                       [](Ticket& batch, std::size_t slot) { return write_row(*batch, slot); });
  builder.add_sink(2);
  // clang-format on
  auto built = builder.build();
  if (!built.ok() || !built->start().ok()) return 1;

  std::vector<bool> seen(kRecords);
  std::uint64_t position = 0;
  for (;;) {
    auto got = built->next<Ticket>();
    if (!got.ok()) return 1;
    if (!*got) break;
    const Batch& batch = ***got;
    if (batch.first != position) return 1;  // batches leave in order
    const float* row = reinterpret_cast<const float*>(batch.slots.data());
    for (std::uint64_t record : batch.records) {
      if (record != order->permute(position++) || seen[record]) return 1;
      seen[record] = true;
      for (std::size_t i = 0; i < kRowFloats; ++i) {
        if (*row++ != static_cast<float>(record + i)) return 1;
      }
    }
    if (pool.stats().peak > kBudget) return 1;
  }
  (void)built->stop();
  std::printf("%llu rows in order, at most %zu of %zu bytes in use\n",
              static_cast<unsigned long long>(position), pool.stats().peak, kBudget);
  return position == kRecords && pool.stats().in_use == 0 ? 0 : 1;
}
