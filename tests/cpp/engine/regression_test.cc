// Corners in which earlier versions hung, crashed or broke a promise.
#include <chrono>
#include <stdexcept>

#include "helpers.h"
#include "penstock/buffer.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

// An item and a second step of the same task.
struct Second {
  int x;
};

TEST(Regression, a_held_task_is_not_overtaken_at_concurrency_one) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(5'000));
  builder.pipe("two steps", [](Context& ctx) {
    if (Second* second = ctx.item().get<Second>()) {
      ctx.emit(Item::of(second->x));
      return Step::done;
    }
    const int x = *ctx.item().get<int>();
    if (x > 1'000 && x % 50 == 0) {
      ctx.item() = Item::of(Second{x});
      return Step::again;
    }
    ctx.emit(Item::of(x));
    return Step::done;
  });
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder);
  EXPECT_EQ(drain<int>(pipeline).first, iota(5'000));
}

TEST(Regression, a_streams_input_is_freed_without_the_lock) {
  // Freeing it wakes the source, which needs the lock.
  constexpr std::size_t kBytes = 1 << 16;
  BufferPool pool(4 * kBytes);
  std::optional<RoomListener> listener;
  PipelineBuilder builder;
  builder.add_source("buffers", [&, made = 0](Context& ctx) mutable {
    if (!listener) listener = pool.on_room([waker = ctx.waker()] { waker.wake(); });
    if (made == 100) return Step::done;
    auto reservation = pool.try_reserve(kBytes);
    if (!reservation) return Step::blocked;
    ctx.emit(Item::of(std::move(*reservation->allocate(kBytes))));
    ++made;
    return Step::again;
  });
  builder.stream("thrice", [](Buffer buffer) {
    return [buffer, n = 0]() mutable -> std::optional<int> {
      return n < 3 ? std::optional(n++) : std::nullopt;
    };
  });
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder);
  EXPECT_EQ(drain<int>(pipeline).first.size(), 300u);
}

TEST(Regression, the_oldest_of_ordered_streams_always_finds_room) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(600));
  builder.stream("waits in between",
                 [](Context& ctx) {
                   if (Second* second = ctx.item().get<Second>()) {
                     ctx.emit(Item::of(-second->x));
                     return Step::done;
                   }
                   const int x = *ctx.item().get<int>();
                   ctx.emit(Item::of(x));
                   if (x % 100 != 50) return Step::done;
                   ctx.item() = Item::of(Second{x});
                   std::thread([waker = ctx.waker()] {
                     std::this_thread::sleep_for(20ms);
                     waker.wake();
                   }).detach();
                   return Step::blocked;
                 },
                 {.concurrency = 3, .order = Order::input});
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder);
  const std::vector<int> items = drain<int>(pipeline).first;
  ASSERT_EQ(items.size(), 606u);
  EXPECT_EQ(items[51], -50);
}

TEST(Regression, a_failure_reaches_the_consumer_though_another_source_blocks) {
  std::atomic<bool> inside{false}, failed{false};
  PipelineBuilder builder;
  builder.add_source("blocks late", [&](Context& ctx) {
    const Waker waker = ctx.waker();
    inside = true;
    while (!failed) std::this_thread::yield();
    std::this_thread::sleep_for(20ms);
    return Step::blocked;
  });
  const StageId blocks = builder.last();
  builder.add_source("numbers", count_to(10)).pipe("bad", [&](int) -> Result<int> {
    while (!inside) std::this_thread::yield();
    failed = true;
    return Error(Code::failed, "no");
  });
  builder.from({blocks, builder.last()}).add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 2, .too_many_failures = at_most(0)});
  EXPECT_EQ(pipeline.get_item().kind, Delivery::Kind::failed);
}

TEST(Regression, a_failure_in_one_path_of_a_router_ends_the_other) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(1'000));
  builder.route(
      "odd", [](const Item& item) { return *item.get<int>() % 2; }, 2);
  const StageId router = builder.last();
  builder.from({Port(router, 0)}).pipe("bad", [](int x) -> Result<int> {
    if (x > 100) return Error(Code::failed, "no");
    return x;
  });
  const StageId bad = builder.last();
  builder.from({Port(router, 1)}).pipe("good", [](int x) { return x; });
  builder.from({bad, builder.last()}).add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 2, .too_many_failures = at_most(0)});
  EXPECT_TRUE(drain<int>(pipeline).second);
}

TEST(Regression, a_busy_pipeline_leaves_its_pool_to_others) {
  auto pool = std::make_shared<WorkerPool>(1);
  PipelineBuilder busy;
  busy.add_source("endless", count_for_ever());
  busy.pipe("drop", [](int) -> std::optional<int> { return std::nullopt; }).add_sink(3);
  Pipeline first = must_start(busy, {.pool = pool});
  std::this_thread::sleep_for(20ms);
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(10)).add_sink(3);
  Pipeline second = must_start(builder, {.pool = pool});
  EXPECT_EQ(drain<int>(second).first, iota(10));
}

TEST(Regression, exceptions_of_counters_and_reporters_do_not_end_the_program) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(10));
  builder.fill<int>(
      "rows",
      [](int x) -> std::size_t {
        if (x == 3) throw std::runtime_error("boom");
        return 2;
      },
      [](int&, std::size_t) { return Status(); });
  builder.add_sink(3);
  Pipeline pipeline =
      must_start(builder, {.threads = 2, .report_failure = [](const FailureReport&) { throw 1; }});
  EXPECT_EQ(drain<int>(pipeline).first.size(), 9u);
  EXPECT_EQ(pipeline.failures()[0].error.message(), "rows: boom");
}

TEST(Regression, a_task_that_asks_for_another_turn_lets_others_go_first) {
  std::atomic<int> emitted{0};
  PipelineBuilder builder;
  builder.add_source("numbers", [&]() -> std::optional<int> {
    return emitted < 10 ? std::optional(emitted++) : std::nullopt;
  });
  builder.pipe("waits for the second", [&](Context& ctx) {
    if (emitted < 2) return Step::again;
    ctx.emit(std::move(ctx.item()));
    return Step::done;
  });
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 1});
  EXPECT_EQ(drain<int>(pipeline).first, iota(10));
}

TEST(Regression, the_longest_timeouts_mean_for_ever) {
  std::atomic<bool> inside{false};
  PipelineBuilder builder;
  builder.add_source("slow", [&](Context&) {
    inside = true;
    std::this_thread::sleep_for(50ms);
    return Step::done;
  });
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder);
  while (!inside) std::this_thread::yield();
  EXPECT_EQ(pipeline.get_item(std::chrono::nanoseconds::max()).kind, Delivery::Kind::end);
  EXPECT_TRUE(pipeline.stop(std::chrono::nanoseconds::max()).ok());
}

TEST(Regression, batches_do_not_pile_up_behind_an_aggregator) {
  PipelineBuilder builder;
  builder.add_source("endless", count_for_ever());
  builder.aggregate<int>(100);
  builder.pipe("hand over", [](std::vector<int> group) { return group; }).add_sink(2);
  Pipeline pipeline = must_start(builder);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(pipeline.get_item().kind, Delivery::Kind::item);
  std::this_thread::sleep_for(50ms);
  EXPECT_LE(pipeline.stats().stages[1].queue_size, 3u);
}

TEST(Regression, impossible_lanes_paths_and_sizes_are_refused) {
  const auto build_error = [](PipelineBuilder& builder) {
    Result<Pipeline> built = builder.build({.threads = 1});
    return built.ok() ? std::string("no error") : built.error().message();
  };
  PipelineBuilder pool_as_lane;
  pool_as_lane.add_source("numbers", count_to(1));
  pool_as_lane.pipe("p", [](int x) { return x; }, {.lane = std::make_shared<WorkerPool>(1)});
  pool_as_lane.add_sink(1);
  EXPECT_EQ(build_error(pool_as_lane),
            "stage 'p': a WorkerPool is not a lane for a stage; give it to build as pool");
  PipelineBuilder huge;
  huge.add_source("numbers", count_to(1), {.queue_size = 1 << 30}).add_sink(1);
  EXPECT_EQ(build_error(huge),
            "stage 'numbers': concurrency and queue_size may be at most 1048576");

  PipelineBuilder negative;
  negative.add_source("numbers", count_to(1));
  negative.route(
      "lost", [](const Item&) { return -1; }, 2);
  const StageId router = negative.last();
  negative.from({Port(router, 0), Port(router, 1)}).add_sink(3);
  Pipeline pipeline = must_start(negative);
  EXPECT_EQ(drain<int>(pipeline).second->message(), "lost: chose path -1 of 2; paths count from 0");
}

TEST(Regression, a_quick_stage_that_becomes_slow_does_not_hold_back_what_is_ready) {
  std::atomic<int> received{0};
  std::atomic<bool> in_time{true};
  constexpr int kSlow = 20'000;
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(kSlow + 1));
  builder.pipe("first", [&](int x) {
    // Tasks are claimed up to 32 at once and published together; all others must get through.
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (x == kSlow && received < kSlow - 32 && in_time) {
      in_time = std::chrono::steady_clock::now() < deadline;
      std::this_thread::sleep_for(1ms);
    }
    return x;
  });
  builder.pipe("second", [](int x) { return x; });
  builder.add_sink(1'000);
  Pipeline pipeline = must_start(builder);
  while (pipeline.get_item().kind == Delivery::Kind::item) ++received;
  EXPECT_TRUE(in_time);
  EXPECT_EQ(received, kSlow + 1);
}

TEST(Regression, a_consumer_that_takes_many_at_once_keeps_the_sink_bounded) {
  std::atomic<int> made{0};
  PipelineBuilder builder;
  builder.add_source("numbers", [&, i = 0]() mutable -> std::optional<int> { return made = ++i; });
  builder.add_sink(64);
  Pipeline pipeline = must_start(builder);
  for (int taken = 1; taken <= 10'000; ++taken) {
    ASSERT_EQ(pipeline.get_item().kind, Delivery::Kind::item);
    if (taken % 997 != 0) continue;
    std::this_thread::sleep_for(20ms);
    EXPECT_LE(made - taken, 64 + 1);
    EXPECT_LE(pipeline.stats().stages[0].queue_size, 64u + 1);
  }
  const PipelineStats stats = pipeline.stats();
  EXPECT_EQ(stats.sink.requests, 10'000u);
  EXPECT_TRUE(pipeline.stop().ok());
  EXPECT_EQ(pipeline.get_item().kind, Delivery::Kind::failed);
}

}  // namespace
}  // namespace penstock
