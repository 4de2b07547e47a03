// What happens when tasks fail: counted, reported, delivered, and when it is too much.
#include <stdexcept>

#include "helpers.h"

namespace penstock {
namespace {

Result<int> fails_on_multiples_of_ten(int x) {
  if (x % 10 == 0) return Error(Code::corrupt, "bad number " + std::to_string(x));
  return x;
}

TEST(Failure, a_failed_item_is_dropped_counted_and_reported) {
  std::atomic<int> reported{0};
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(1'000));
  builder.pipe("picky", &fails_on_multiples_of_ten, {.concurrency = 2});
  builder.add_sink(3);
  Pipeline pipeline =
      must_start(builder, {.threads = 2, .report_failure = [&](const FailureReport& report) {
                             EXPECT_EQ(report.stage, "picky");
                             reported++;
                           }});
  auto [items, error] = drain<int>(pipeline);
  EXPECT_FALSE(error);
  EXPECT_EQ(items.size(), 900u);
  ASSERT_TRUE(pipeline.stop().ok());
  EXPECT_EQ(reported, 100);
  EXPECT_EQ(pipeline.stats().stages[1].failures, 100u);
  EXPECT_EQ(pipeline.stats().stages[1].dropped, 0u);
  ASSERT_EQ(pipeline.failures().size(), 100u);
  EXPECT_EQ(pipeline.failures()[0].error.code(), Code::corrupt);
}

TEST(Failure, too_many_failures_end_the_pipeline_after_what_is_under_way) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_for_ever());
  builder.pipe("picky", &fails_on_multiples_of_ten);
  builder.pipe("same", [](int x) { return x; });
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 2, .too_many_failures = at_most(3)});
  auto [items, error] = drain<int>(pipeline);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "bad number 30");
  // Everything before the fourth failure came out.
  ASSERT_GE(items.size(), 27u);
  for (std::size_t i = 0; i < 27; ++i) EXPECT_NE(items[i] % 10, 0);
  EXPECT_EQ(pipeline.get_item().kind, Delivery::Kind::failed) << "the error stays";
  EXPECT_TRUE(pipeline.stop().ok());
}

TEST(Failure, limits_see_the_steps_of_streams_and_no_routers) {
  FailureCounts last;
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(10));
  builder.route(
      "fork", [](const Item&) { return 0; }, 1);
  builder.from({Port(builder.last(), 0)});
  builder.stream("three times", [](int x) {
    return [x, left = 3]() mutable -> std::optional<int> {
      return left-- == 0 ? std::nullopt : std::optional(x);
    };
  });
  builder.pipe("none", [](int) -> Result<int> { return Error(Code::failed, "no"); });
  builder.add_sink(3);
  const FailureLimit note = [&](const FailureCounts& counts) {
    last = counts;
    return false;
  };
  Pipeline pipeline = must_start(builder, {.threads = 1, .too_many_failures = note});
  EXPECT_TRUE(drain<int>(pipeline).first.empty());
  EXPECT_EQ(last.failed, 30u);
  EXPECT_EQ(last.processed, 30u);
  // All outputs of the stream by then, and perhaps its ends.
  EXPECT_GE(last.all_processed, 30u + 10u * 3u);
  EXPECT_LE(last.all_processed, 30u + 10u * 4u);
}

TEST(Failure, a_stage_may_have_a_limit_of_its_own) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(100));
  builder.pipe("tolerant", &fails_on_multiples_of_ten, {.too_many_failures = at_most(100)});
  builder.pipe("strict", [](int x) -> Result<int> {
    if (x == 55) return Error(Code::failed, "no 55");
    return x;
  });
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 2, .too_many_failures = at_most(0)});
  auto [items, error] = drain<int>(pipeline);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "no 55");
}

TEST(Failure, delivered_errors_come_in_their_items_place) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(100));
  builder.pipe("fails at 37",
               [](int x) -> Result<int> {
                 if (x == 37) return Error(Code::corrupt, "37 is bad");
                 if (x < 37) std::this_thread::sleep_for(std::chrono::microseconds(200));
                 return x;
               },
               {.concurrency = 4, .order = Order::input});
  builder.pipe("same", [](int x) { return x; }, {.concurrency = 3, .order = Order::input});
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 4, .on_failure = OnFailure::deliver});
  auto [items, error] = drain<int>(pipeline);
  EXPECT_EQ(items, iota(37));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "37 is bad");
  EXPECT_EQ(pipeline.get_item().kind, Delivery::Kind::failed) << "a delivered failure is the end";
}

TEST(Failure, a_failing_source_ends_the_pipeline_after_its_items) {
  PipelineBuilder builder;
  builder.add_source("breaks", [i = 0]() mutable -> Result<std::optional<int>> {
    if (i == 20) return Error(Code::io, "disk is gone");
    return std::optional(i++);
  });
  builder.pipe("same", [](int x) { return x; }).add_sink(2);
  Pipeline pipeline = must_start(builder);
  auto [items, error] = drain<int>(pipeline);
  EXPECT_EQ(items, iota(20));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), Code::io);
}

TEST(Failure, an_exception_is_a_failure_with_the_stage_named) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(1));
  builder.pipe("throws", [](int) -> int { throw std::runtime_error("out of luck"); });
  builder.add_sink(2);
  Pipeline pipeline = must_start(builder, {.threads = 1, .on_failure = OnFailure::deliver});
  auto [items, error] = drain<int>(pipeline);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "throws: out of luck");
}

TEST(Failure, one_failed_branch_ends_the_others) {
  PipelineBuilder builder;
  builder.add_source("endless", count_for_ever());
  const StageId endless = builder.last();
  builder.add_source("other", count_for_ever()).pipe("breaks", [](int x) -> Result<int> {
    if (x == 50) return Error(Code::failed, "enough");
    return x;
  });
  builder.from({endless, builder.last()}).add_sink(4);
  Pipeline pipeline = must_start(builder, {.threads = 2, .too_many_failures = at_most(0)});
  auto [items, error] = drain<int>(pipeline);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "enough");
}

TEST(Failure, failures_in_any_stage_lose_nothing_else) {
  for (int bad_stage = 0; bad_stage < 4; ++bad_stage) {
    PipelineBuilder builder;
    builder.add_source("numbers", count_to(500));
    for (int k = 0; k < 4; ++k) {
      builder.pipe("stage " + std::to_string(k),
                   [k, bad_stage](int x) -> Result<int> {
                     return k == bad_stage ? fails_on_multiples_of_ten(x) : Result<int>(x);
                   },
                   {.concurrency = 1 + k, .order = k % 2 ? Order::input : Order::completion});
    }
    builder.add_sink(3);
    Pipeline pipeline = must_start(builder, {.threads = 3});
    EXPECT_EQ(drain<int>(pipeline).first.size(), 450u);
  }
}

}  // namespace
}  // namespace penstock
