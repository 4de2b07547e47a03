// What the pipeline says about itself is true.
#include "engine/histogram.h"
#include "helpers.h"

namespace penstock {
namespace {

using std::chrono::milliseconds;

TEST(Statistics, items_are_counted_in_and_out) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(1'000));
  builder.pipe("even", [](int x) { return x % 2 ? std::nullopt : std::optional(x); });
  builder.aggregate<int>(10).add_sink(3);
  Pipeline pipeline = must_start(builder);
  EXPECT_EQ(drain<std::vector<int>>(pipeline).first.size(), 50u);
  const PipelineStats stats = pipeline.stats();
  ASSERT_EQ(stats.stages.size(), 3u);
  EXPECT_EQ(stats.stages[0].name, "numbers");
  EXPECT_EQ(stats.stages[0].items_out, 1'000u);
  EXPECT_EQ(stats.stages[1].items_in, 1'000u);
  EXPECT_EQ(stats.stages[1].items_out, 500u);
  EXPECT_EQ(stats.stages[1].dropped, 500u);
  EXPECT_EQ(stats.stages[2].items_in, 500u);
  EXPECT_EQ(stats.stages[2].items_out, 50u);
  EXPECT_EQ(stats.stages[2].dropped, 0u) << "what an aggregator keeps is not dropped";
  EXPECT_EQ(stats.sink.requests, 50u);
}

TEST(Statistics, a_slow_stage_shows_in_its_neighbours) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(40));
  builder.pipe("before", [](int x) { return x; });
  builder.pipe("slow", [](int x) {
    std::this_thread::sleep_for(milliseconds(20));
    return x;
  });
  builder.pipe("after", [](int x) { return x; });
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 4});
  drain<int>(pipeline);
  ASSERT_TRUE(pipeline.stop().ok());
  const PipelineStats stats = pipeline.stats();
  const StageStats& before = stats.stages[1];
  const StageStats& slow = stats.stages[2];
  const StageStats& after = stats.stages[3];
  EXPECT_GT(slow.p50_seconds, 0.016);
  EXPECT_GE(slow.p99_seconds, slow.p50_seconds);
  EXPECT_GE(slow.task_seconds, 0.8);
  EXPECT_LT(before.mean_seconds, slow.mean_seconds);
  // The slow one takes 0.8 s at least. On a busy machine its neighbours wait for a core as well.
  EXPECT_GT(before.blocked_seconds, 0.2) << "it waits for the slow one to read";
  EXPECT_GT(after.waiting_seconds, 0.2) << "it waits for the slow one to write";
  EXPECT_LT(before.waiting_seconds, 0.5 * before.blocked_seconds);
  EXPECT_LT(after.blocked_seconds, 0.5 * after.waiting_seconds);
  EXPECT_LT(stats.sink.readiness(), 0.5);
  EXPECT_GT(stats.sink.wait_seconds, 0.2);
}

TEST(Statistics, a_stage_that_all_workers_fill_batches_of_is_not_blocked) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(100));
  builder.fill<int>(
      "rows", [](int) { return 1; },
      [](int&, std::size_t) {
        std::this_thread::sleep_for(milliseconds(4));
        return Status();
      });
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 2});
  drain<int>(pipeline);
  ASSERT_TRUE(pipeline.stop().ok());
  const StageStats rows = pipeline.stats().stages[1];
  EXPECT_LT(rows.blocked_seconds, 0.5 * rows.task_seconds / 2);
}

TEST(Statistics, a_slow_consumer_finds_its_items_ready) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(50));
  builder.pipe("same", [](int x) { return x; }).add_sink(8);
  Pipeline pipeline = must_start(builder);
  EXPECT_TRUE(wait_until([&] { return pipeline.stats().stages[1].queue_size >= 8; }));
  for (;;) {
    if (pipeline.get_item().kind != Delivery::Kind::item) break;
    std::this_thread::sleep_for(milliseconds(5));
  }
  const PipelineStats stats = pipeline.stats();
  EXPECT_EQ(stats.sink.requests, 50u);
  EXPECT_GT(stats.sink.readiness(), 0.5);
  EXPECT_GT(stats.stages[1].queue_mean, 2.0);
  EXPECT_LE(stats.stages[1].queue_mean, 8.0) << "a finished item without room is not in the queue";
  EXPECT_EQ(stats.stages[1].queue_capacity, 8u);
}

TEST(Statistics, they_can_be_read_while_it_runs) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_for_ever());
  builder.pipe("same", [](int x) { return x; }, {.concurrency = 2}).add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 2});
  std::uint64_t last = 0;
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(pipeline.get_item().kind, Delivery::Kind::item);
    const PipelineStats stats = pipeline.stats();
    EXPECT_GE(stats.stages[1].items_in, stats.stages[1].items_out);
    EXPECT_GE(stats.stages[1].items_in, last);
    last = stats.stages[1].items_in;
  }
}

TEST(Statistics, rows_are_timed_one_by_one) {
  PipelineBuilder builder;
  builder.add_source("batches", count_to(4));
  builder.fill<int>(
      "rows", [](int) { return 8; },
      [](int&, std::size_t) {
        std::this_thread::sleep_for(milliseconds(1));
        return Status();
      });
  builder.add_sink(4);
  Pipeline pipeline = must_start(builder, {.threads = 2});
  drain<int>(pipeline);
  const StageStats rows = pipeline.stats().stages[1];
  EXPECT_EQ(rows.tasks, 32u);
  EXPECT_GT(rows.mean_seconds, 0.001);
  EXPECT_EQ(rows.items_out, 4u);
}

TEST(Histogram, quantiles_are_within_an_eighth) {
  engine::Histogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0);
  for (int i = 1; i <= 100'000; ++i) histogram.add(i * 10);
  EXPECT_NEAR(histogram.quantile(0.50), 500'000e-9, 500'000e-9 / 8);
  EXPECT_NEAR(histogram.quantile(0.99), 990'000e-9, 990'000e-9 / 8);
  histogram.add(-5);
  histogram.add(INT64_MAX);
  EXPECT_EQ(histogram.total(), 100'002u);
}

}  // namespace
}  // namespace penstock
