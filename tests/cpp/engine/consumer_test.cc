// A consumer that helps: what it carries out itself while it waits, and what it leaves to workers.
#include "helpers.h"

namespace penstock {
namespace {

// A pool of one thread, which a pipeline of its own keeps busy for as long as this lives.
class BusyPool {
 public:
  explicit BusyPool(std::shared_ptr<WorkerPool> pool) {
    PipelineBuilder builder;
    builder.add_source("one", count_to(1));
    builder.pipe("holds the worker", [this](int x) {
      held_ = true;
      while (!let_go_) std::this_thread::sleep_for(std::chrono::microseconds(100));
      return x;
    });
    builder.add_sink(1);
    pipeline_ = must_start(builder, {.pool = std::move(pool)});
    EXPECT_TRUE(wait_until([this] { return held_.load(); }));
  }
  ~BusyPool() { let_go_ = true; }

 private:
  std::atomic<bool> held_{false}, let_go_{false};
  std::optional<Pipeline> pipeline_;
};

constexpr int kWaiting = 4;  // items of the sink
const StageOptions kHelped{.consumer_helps = true};

// How many of the next items come although the only worker is busy elsewhere.
int items_without_workers(Pipeline& pipeline, const std::shared_ptr<WorkerPool>& pool, int most) {
  const BusyPool busy(pool);
  int got = 0;
  while (got < most) {
    const Delivery delivery = pipeline.get_item(std::chrono::milliseconds(50));
    if (delivery.kind != Delivery::Kind::item) break;
    ++got;
  }
  return got;
}

TEST(Consumer, carries_out_short_tasks_itself_while_it_waits) {
  const auto pool = std::make_shared<WorkerPool>(1);
  std::atomic<bool> by_consumer{false};
  std::atomic<unsigned> highest{0};
  const auto here = std::this_thread::get_id();
  PipelineBuilder builder;
  builder.add_source("numbers", count_for_ever(), kHelped);
  builder.pipe("short", StepFunction([&](Context& ctx) {
                 if (std::this_thread::get_id() == here) by_consumer = true;
                 highest = std::max(highest.load(), ctx.worker());
                 ctx.emit(std::move(ctx.item()));
                 return Step::done;
               }),
               kHelped);
  builder.add_sink(kWaiting);
  Pipeline pipeline = must_start(builder, {.pool = pool});
  int next = 0;
  // On a machine that is held up for a moment the tasks may not have been short just now.
  EXPECT_TRUE(wait_until([&] {
    for (int i = 0; i < 200; ++i) EXPECT_EQ(**pipeline.next<int>(), next++);
    const int got = items_without_workers(pipeline, pool, 100);
    next += got;
    return got == 100;
  }));
  EXPECT_TRUE(by_consumer);
  EXPECT_EQ(highest, pool->threads());  // the number of the consumer
}

TEST(Consumer, leaves_long_tasks_to_workers) {
  const auto pool = std::make_shared<WorkerPool>(1);
  std::atomic<bool> by_consumer{false};
  const auto here = std::this_thread::get_id();
  PipelineBuilder builder;
  builder.add_source("numbers", count_for_ever(), kHelped);
  builder.pipe(
      "long",
      [&](int x) {
        by_consumer = by_consumer || std::this_thread::get_id() == here;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return x;
      },
      kHelped);
  builder.add_sink(kWaiting);
  Pipeline pipeline = must_start(builder, {.pool = pool});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(**pipeline.next<int>(), i);
  EXPECT_LE(items_without_workers(pipeline, pool, 100), 2 * kWaiting);
  EXPECT_FALSE(by_consumer);
}

TEST(Consumer, leaves_stages_that_may_wait_to_workers) {
  const auto pool = std::make_shared<WorkerPool>(1);
  PipelineBuilder builder;
  builder.add_source("numbers", count_for_ever(), kHelped);
  builder.pipe("short", [](int x) { return x; });
  builder.add_sink(kWaiting);
  Pipeline pipeline = must_start(builder, {.pool = pool});
  for (int i = 0; i < 200; ++i) EXPECT_EQ(**pipeline.next<int>(), i);
  EXPECT_LT(items_without_workers(pipeline, pool, 100), 100);
}

TEST(Consumer, fills_batches_while_all_workers_are_at_it) {
  std::atomic<bool> hold{false}, inside{false}, helped{false};
  const auto here = std::this_thread::get_id();
  PipelineBuilder builder;
  builder.add_source("numbers", count_for_ever(), kHelped);
  builder.fill<int>(
      "rows", [](int) { return 1; },
      [&](int&, std::size_t) {
        if (std::this_thread::get_id() == here) {
          helped = helped || inside;
        } else if (hold) {
          inside = true;
          wait_until([&] { return helped.load(); });
          inside = false;
        }
        return Status();
      },
      kHelped);
  builder.add_sink(kWaiting);
  Pipeline pipeline = must_start(builder, {.threads = 1});
  for (int i = 0; i < 200; ++i) EXPECT_EQ(**pipeline.next<int>(), i);
  hold = true;
  wait_until([&] {
    (void)pipeline.get_item(std::chrono::milliseconds(1));
    return helped.load();
  });
  EXPECT_TRUE(helped);
}

TEST(Consumer, gets_the_same_in_the_same_order_with_help) {
  for (const int threads : {1, 2, 4}) {
    for (const bool fails : {false, true}) {
      PipelineBuilder builder;
      builder.add_source("numbers", count_to(20'000), kHelped);
      builder.pipe("odd ones fail",
                   [fails](int x) -> Result<int> {
                     if (fails && x % 2 == 1) return Error(Code::corrupt, "odd");
                     return x;
                   },
                   {.concurrency = 3, .order = Order::input, .consumer_helps = true});
      builder.fill<int>(
          "rows", [](int) { return 3; }, [](int&, std::size_t) { return Status(); }, kHelped);
      builder.add_sink(8);
      Pipeline pipeline = must_start(builder, {.threads = threads});
      const auto [items, error] = drain<int>(pipeline);
      EXPECT_FALSE(error);
      std::vector<int> expected = iota(20'000);
      if (fails) std::erase_if(expected, [](int x) { return x % 2 == 1; });
      EXPECT_EQ(items, expected);
    }
  }
}

TEST(Consumer, that_helps_can_be_stopped_by_another_thread) {
  for (int round = 0; round < 20; ++round) {
    PipelineBuilder builder;
    builder.add_source("numbers", count_for_ever(), kHelped);
    builder.pipe(
        "none pass", [](int) -> std::optional<int> { return std::nullopt; }, kHelped);
    builder.add_sink(2);
    Pipeline pipeline = must_start(builder, {.threads = 1});
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      EXPECT_TRUE(pipeline.stop().ok());
    });
    EXPECT_EQ(pipeline.get_item().kind, Delivery::Kind::failed);
    stopper.join();
  }
}

}  // namespace
}  // namespace penstock
