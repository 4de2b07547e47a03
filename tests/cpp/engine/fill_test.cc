// Batches filled in place: rows finish in any order, batches leave in order.
#include <array>
#include <memory>

#include "helpers.h"
#include "penstock/buffer.h"

namespace penstock {
namespace {

constexpr std::size_t kSlots = 256;
constexpr std::size_t kRowBytes = 64;

// A batch whose slots lie in one buffer of a pool.
struct Batch {
  std::int64_t first = 0;
  std::size_t rows = kSlots;
  Buffer slots;
};

// A well mixed number for each position, so that a row in the wrong slot is noticed.
std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

Status write_row(Batch& batch, std::size_t row) {
  auto* slot = reinterpret_cast<std::uint64_t*>(batch.slots.data() + row * kRowBytes);
  for (std::size_t i = 0; i < kRowBytes / 8; ++i) {
    slot[i] = mix((static_cast<std::uint64_t>(batch.first) + row) * 8 + i);
  }
  return {};
}

// A source of batches that reserves each batch's memory when it is admitted, and waits for room.
StepFunction batches(BufferPool& pool, std::int64_t count, std::optional<RoomListener>& listener) {
  return [&pool, &listener, count, next = std::int64_t{0}](Context& ctx) mutable {
    if (next == count) return Step::done;
    // Listen first: room that comes between a failed try and the listening would be missed.
    if (!listener) {
      listener = pool.on_room([waker = ctx.waker()] { waker.wake(); });
    }
    auto reservation = pool.try_reserve(kSlots * kRowBytes);
    if (!reservation) return Step::blocked;
    Result<Buffer> slots = reservation->allocate(kSlots * kRowBytes);
    if (!slots.ok()) return ctx.fail(slots.error());
    auto batch = std::make_shared<Batch>();
    batch->first = next++ * static_cast<std::int64_t>(kSlots);
    batch->slots = std::move(*slots);
    ctx.emit(Item::of(std::move(batch)));
    return Step::again;
  };
}

using Ticket = std::shared_ptr<Batch>;

TEST(Fill, same_bytes_in_order_for_any_number_of_threads_under_a_budget_of_two_batches) {
  constexpr std::int64_t kBatches = 60;
  std::vector<std::uint64_t> digests;
  for (const int threads : {1, 2, 3, 8}) {
    BufferPool pool(2 * kSlots * kRowBytes);
    std::uint64_t digest = 0;
    {
      std::optional<RoomListener> listener;
      PipelineBuilder builder;
      builder.add_source("positions", batches(pool, kBatches, listener));
      builder.fill<Ticket>(
          "rows", [](const Ticket& batch) { return batch->rows; },
          [](Ticket& batch, std::size_t row) { return write_row(*batch, row); });
      builder.add_sink(2);
      Pipeline pipeline = must_start(builder, {.threads = threads});
      for (std::int64_t b = 0; b < kBatches; ++b) {
        Ticket batch = **pipeline.next<Ticket>();
        EXPECT_EQ(batch->first, b * static_cast<std::int64_t>(kSlots));
        const auto* words = reinterpret_cast<const std::uint64_t*>(batch->slots.data());
        for (std::size_t i = 0; i < kSlots * kRowBytes / 8; ++i) digest = mix(digest ^ words[i]);
        EXPECT_LE(pool.stats().in_use + pool.stats().reserved, 2 * kSlots * kRowBytes);
      }
      EXPECT_FALSE(*pipeline.next<Ticket>());
      EXPECT_TRUE(pipeline.stop().ok());
    }
    EXPECT_EQ(pool.stats().in_use, 0u);
    EXPECT_EQ(pool.stats().reserved, 0u);
    digests.push_back(digest);
  }
  for (const std::uint64_t digest : digests) EXPECT_EQ(digest, digests[0]);
}

auto plain_batches(int count, std::size_t rows) {
  return [count, rows, next = 0]() mutable -> std::optional<Ticket> {
    if (next == count) return std::nullopt;
    auto batch = std::make_shared<Batch>();
    batch->first = next++;
    batch->rows = rows;
    return batch;
  };
}

TEST(Fill, rows_finish_in_any_order_but_batches_leave_in_order) {
  PipelineBuilder builder;
  builder.add_source("batches", plain_batches(40, 16));
  builder.fill<Ticket>(
      "uneven", [](const Ticket& batch) { return batch->rows; },
      [](Ticket& batch, std::size_t row) {
        if (batch->first % 2 == 0 && row == 15) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return Status();
      });
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 4});
  for (int b = 0; b < 40; ++b) EXPECT_EQ((**pipeline.next<Ticket>())->first, b);
}

TEST(Fill, every_row_runs_exactly_once) {
  std::array<std::atomic<int>, 1000> runs{};
  PipelineBuilder builder;
  builder.add_source("batches", plain_batches(10, 100));
  builder.fill<Ticket>(
      "count", [](const Ticket& batch) { return batch->rows; },
      [&](Ticket& batch, std::size_t row) {
        runs[static_cast<std::size_t>(batch->first) * 100 + row]++;
        return Status();
      });
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 4});
  EXPECT_EQ(drain<Ticket>(pipeline).first.size(), 10u);
  for (auto& run : runs) EXPECT_EQ(run, 1);
}

TEST(Fill, rows_of_one_batch_run_on_several_workers) {
  // Two rows that wait for each other can only end on two workers.
  std::atomic<int> inside{0};
  PipelineBuilder builder;
  builder.add_source("batches", plain_batches(5, 2));
  builder.fill<Ticket>(
      "meet", [](const Ticket& batch) { return batch->rows; },
      [&](Ticket& batch, std::size_t) {
        inside++;
        while (inside < 2 * (batch->first + 1)) std::this_thread::yield();
        return Status();
      });
  builder.add_sink(1);
  Pipeline pipeline = must_start(builder, {.threads = 2});
  EXPECT_EQ(drain<Ticket>(pipeline).first.size(), 5u);
}

TEST(Fill, a_batch_without_rows_passes) {
  PipelineBuilder builder;
  builder.add_source("batches", plain_batches(7, 0));
  builder.fill<Ticket>(
      "none", [](const Ticket& batch) { return batch->rows; },
      [](Ticket&, std::size_t) { return Status(); });
  builder.add_sink(2);
  Pipeline pipeline = must_start(builder);
  EXPECT_EQ(drain<Ticket>(pipeline).first.size(), 7u);
}

TEST(Fill, a_failed_row_surfaces_when_its_batch_is_due_and_names_the_first_bad_row) {
  for (const int threads : {1, 4}) {
    PipelineBuilder builder;
    builder.add_source("batches", plain_batches(20, 64));
    builder.fill<Ticket>(
        "row", [](const Ticket& batch) { return batch->rows; },
        [](Ticket& batch, std::size_t row) -> Status {
          if (batch->first >= 5 && row % 16 == 3) {
            return Error(Code::corrupt, "bad row")
                .of_sample(std::to_string(batch->first) + "/" + std::to_string(row));
          }
          return {};
        });
    builder.pipe("after", [](Ticket batch) { return batch; });
    builder.add_sink(3);
    Pipeline pipeline = must_start(builder, {.threads = threads, .on_failure = OnFailure::deliver});
    auto [items, error] = drain<Ticket>(pipeline);
    EXPECT_EQ(items.size(), 5u);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->to_string(), "corrupt: bad row (sample 5/3)");
  }
}

TEST(Fill, a_dropped_batch_leaves_the_others_in_order) {
  PipelineBuilder builder;
  builder.add_source("batches", plain_batches(30, 8));
  builder.fill<Ticket>(
      "row", [](const Ticket& batch) { return batch->rows; },
      [](Ticket& batch, std::size_t) -> Status {
        if (batch->first % 3 == 0) return Error(Code::failed, "no");
        return {};
      });
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 3});
  const auto items = drain<Ticket>(pipeline).first;
  ASSERT_EQ(items.size(), 20u);
  for (std::size_t i = 1; i < items.size(); ++i) EXPECT_LT(items[i - 1]->first, items[i]->first);
  EXPECT_EQ(pipeline.stats().stages[1].failures, 10u);
}

TEST(Fill, one_batch_above_the_budget_is_admitted_alone) {
  BufferPool pool(kSlots * kRowBytes / 2);
  std::optional<RoomListener> listener;
  PipelineBuilder builder;
  builder.add_source("positions", batches(pool, 10, listener));
  builder.fill<Ticket>(
      "rows", [](const Ticket& batch) { return batch->rows; },
      [](Ticket& batch, std::size_t row) { return write_row(*batch, row); });
  builder.add_sink(2);
  Pipeline pipeline = must_start(builder, {.threads = 2});
  int seen = 0;
  for (;;) {
    auto got = pipeline.next<Ticket>();
    ASSERT_TRUE(got.ok());
    if (!*got) break;
    seen++;
  }
  EXPECT_EQ(seen, 10);
  EXPECT_GE(pool.stats().over_budget, 10u);
}

}  // namespace
}  // namespace penstock
