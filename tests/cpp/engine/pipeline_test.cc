// Stages, one after the other: what comes out, and in which order.
#include <map>
#include <set>
#include <string>

#include "helpers.h"

namespace penstock {
namespace {

TEST(Pipeline, every_item_comes_out_once) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(10'000));
  builder.pipe("double", [](int x) { return 2 * x; }, {.concurrency = 3});
  builder.pipe("half", [](int x) { return x / 2; }, {.concurrency = 2});
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder);
  auto [items, error] = drain<int>(pipeline);
  EXPECT_FALSE(error);
  EXPECT_EQ(sorted(items), iota(10'000));
}

TEST(Pipeline, one_task_at_a_time_keeps_the_order) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(5'000));
  builder.pipe("a", [](int x) { return x; });
  builder.pipe("b", [](int x) { return x; });
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 4});
  EXPECT_EQ(drain<int>(pipeline).first, iota(5'000));
}

TEST(Pipeline, input_order_is_kept_whatever_finishes_first) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(400));
  builder.pipe("uneven",
               [](int x) {
                 std::this_thread::sleep_for(std::chrono::microseconds((x * 7919) % 300));
                 return x;
               },
               {.concurrency = 4, .order = Order::input});
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 4});
  EXPECT_EQ(drain<int>(pipeline).first, iota(400));
}

TEST(Pipeline, completion_order_lets_fast_items_overtake) {
  // The first task waits until a later one has come out at the sink.
  std::atomic<bool> overtaken{false};
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(2));
  builder.pipe("first waits",
               [&](int x) {
                 while (x == 0 && !overtaken) std::this_thread::yield();
                 return x;
               },
               {.concurrency = 2});
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder);
  EXPECT_EQ(**pipeline.next<int>(), 1);
  overtaken = true;
  EXPECT_EQ(**pipeline.next<int>(), 0);
}

TEST(Pipeline, an_op_that_returns_nothing_drops_the_item) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(100));
  builder.pipe("even", [](int x) { return x % 2 == 0 ? std::optional(x) : std::nullopt; },
               {.concurrency = 2, .order = Order::input});
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder);
  const std::vector<int> items = drain<int>(pipeline).first;
  ASSERT_EQ(items.size(), 50u);
  EXPECT_EQ(items[7], 14);
  EXPECT_EQ(pipeline.stats().stages[1].dropped, 50u);
}

TEST(Pipeline, concurrency_bounds_the_tasks_of_a_stage) {
  std::atomic<int> inside{0}, most{0};
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(300));
  builder.pipe("watched",
               [&](int x) {
                 const int now = ++inside;
                 int seen = most;
                 while (now > seen && !most.compare_exchange_weak(seen, now)) {
                 }
                 if (x == 0) {
                   EXPECT_TRUE(wait_until([&] { return most >= 3; }));
                 }
                 std::this_thread::sleep_for(std::chrono::microseconds(200));  // more may come
                 --inside;
                 return x;
               },
               {.concurrency = 3});
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 6});
  EXPECT_EQ(drain<int>(pipeline).first.size(), 300u);
  EXPECT_EQ(most, 3);
}

TEST(Pipeline, a_full_sink_stops_the_source) {
  std::atomic<int> polled{0};
  PipelineBuilder builder;
  builder.add_source("numbers", [&]() -> std::optional<int> {
    std::this_thread::sleep_for(std::chrono::microseconds(100));  // slow: the queues stay short
    return polled++;
  });
  builder.pipe("same", [](int x) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    return x;
  });
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder);
  EXPECT_TRUE(wait_until([&] { return polled >= 4; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  // Sink 3 + 1 finished; queue 2 + 1 finished: nobody can hold more.
  EXPECT_LE(polled, 7);
}

TEST(Pipeline, values_of_any_movable_type_travel) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(100));
  builder.pipe("text", [](int x) { return std::to_string(x); });
  builder.pipe("pointer",
               [](std::string s) { return std::make_unique<std::string>(std::move(s)); });
  builder.pipe("length",
               [](const std::unique_ptr<std::string>& s) { return static_cast<int>(s->size()); });
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder);
  const std::vector<int> items = drain<int>(pipeline).first;
  ASSERT_EQ(items.size(), 100u);
  EXPECT_EQ(items[9], 1);
  EXPECT_EQ(items[10], 2);
}

TEST(Pipeline, a_wrong_type_fails_the_item_and_says_so) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(1));
  builder.pipe("wants text", [](const std::string& s) { return s; });
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 1, .on_failure = OnFailure::deliver});
  auto [items, error] = drain<std::string>(pipeline);
  ASSERT_TRUE(error);
  EXPECT_NE(error->message().find("but was given i"), std::string::npos) << error->to_string();
}

TEST(Pipeline, aggregate_makes_groups_and_a_shorter_last_one) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(10));
  builder.aggregate<int>(4).add_sink(3);
  Pipeline pipeline = must_start(builder);
  const auto groups = drain<std::vector<int>>(pipeline).first;
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0], (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(groups[2], (std::vector{8, 9}));
}

TEST(Pipeline, aggregate_drops_the_last_group_on_request) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(10));
  builder.aggregate<int>(4, /*drop_last=*/true).add_sink(3);
  Pipeline pipeline = must_start(builder);
  EXPECT_EQ(drain<std::vector<int>>(pipeline).first.size(), 2u);
}

TEST(Pipeline, a_stage_hears_of_the_end_after_its_last_task_and_may_add_to_it) {
  for (const Order order : {Order::completion, Order::input}) {
    std::atomic<int> running{0}, done{0};
    PipelineBuilder builder;
    builder.add_source("numbers", count_to(50));
    StageOptions options{.concurrency = 3, .order = order};
    options.flush = [&](Context& ctx) {
      ctx.emit(Item::of(1'000 * (running == 0 ? done.load() : -1)));
      return Step::done;
    };
    builder.pipe(
        "same",
        [&](int x) {
          running++;
          std::this_thread::sleep_for(std::chrono::microseconds(x % 3 * 100));
          done++;
          running--;
          return x;
        },
        std::move(options));
    builder.add_sink(3);
    Pipeline pipeline = must_start(builder, {.threads = 3});
    const std::vector<int> items = drain<int>(pipeline).first;
    ASSERT_EQ(items.size(), 51u);
    EXPECT_EQ(items.back(), 50'000);
  }
}

TEST(Pipeline, disaggregate_undoes_aggregate) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(1'000));
  builder.aggregate<int>(7).disaggregate<int>().aggregate(13).disaggregate().add_sink(3);
  Pipeline pipeline = must_start(builder);
  EXPECT_EQ(drain<int>(pipeline).first, iota(1'000));
}

TEST(Pipeline, a_stream_emits_many_and_does_not_run_ahead_of_its_readers) {
  std::atomic<int> made{0};
  PipelineBuilder builder;
  builder.add_source("one", count_to(1));
  builder.stream("endless", [&](int) {
    return [&]() -> std::optional<int> {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      return made++;
    };
  });
  builder.add_sink(2);
  Pipeline pipeline = must_start(builder);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(**pipeline.next<int>(), i);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(made, 5 + 2 + 1);
}

TEST(Pipeline, streams_keep_the_order_of_their_inputs_on_request) {
  for (int round = 0; round < 20; ++round) {
    PipelineBuilder builder;
    builder.add_source("numbers", count_to(50));
    builder.stream("repeat",
                   [](int x) {
                     return [x, left = x % 5]() mutable -> std::optional<int> {
                       if (left-- == 0) return std::nullopt;
                       return x;
                     };
                   },
                   {.concurrency = 4, .order = Order::input, .queue_size = 1});
    builder.add_sink(1);
    Pipeline pipeline = must_start(builder, {.threads = 4});
    std::vector<int> expected;
    for (int x = 0; x < 50; ++x)
      expected.insert(expected.end(), static_cast<std::size_t>(x % 5), x);
    EXPECT_EQ(drain<int>(pipeline).first, expected);
  }
}

TEST(Pipeline, several_sources_are_merged) {
  PipelineBuilder builder;
  builder.add_source("low", count_to(500));
  const StageId low = builder.last();
  builder.add_source("high", count_to(300)).pipe("shift", [](int x) { return x + 500; });
  const StageId high = builder.last();
  builder.from({low, high}).pipe("same", [](int x) { return x; }, {.concurrency = 2}).add_sink(3);
  Pipeline pipeline = must_start(builder);
  EXPECT_EQ(sorted(drain<int>(pipeline).first), iota(800));
}

TEST(Pipeline, items_are_routed_to_their_paths_and_joined) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(999));
  builder.route(
      "by three", [](const Item& item) { return *item.get<int>() % 3; }, 3);
  const StageId router = builder.last();
  builder.from({Port(router, 0)}).pipe("zero", [](int x) { return std::pair(x, 0); });
  const StageId zero = builder.last();
  builder.from({Port(router, 1)})
      .pipe("one", [](int x) { return x; }, {.concurrency = 2})
      .pipe("one again", [](int x) { return std::pair(x, 1); });
  const StageId one = builder.last();
  builder.from({Port(router, 2)}).pipe("two", [](int x) { return std::pair(x, 2); });
  const StageId two = builder.last();
  builder.from({zero, one, two}).add_sink(3);
  Pipeline pipeline = must_start(builder);
  const auto items = drain<std::pair<int, int>>(pipeline).first;
  std::set<int> seen;
  for (auto [x, path] : items) {
    EXPECT_EQ(x % 3, path);
    seen.insert(x);
  }
  EXPECT_EQ(seen.size(), 999u);
  EXPECT_EQ(items.size(), 999u);
}

TEST(Pipeline, a_path_without_stages_leads_straight_to_the_join) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(100));
  builder.route(
      "odd", [](const Item& item) { return *item.get<int>() % 2; }, 2);
  const StageId router = builder.last();
  builder.from({Port(router, 1)}).pipe("odd", [](int x) { return x; });
  builder.from({Port(router, 0), Port(builder.last())}).add_sink(3);
  Pipeline pipeline = must_start(builder);
  EXPECT_EQ(sorted(drain<int>(pipeline).first), iota(100));
}

TEST(Pipeline, a_router_that_names_no_path_ends_the_pipeline_with_its_name) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(100));
  builder.route(
      "lost", [](const Item&) { return 7; }, 2);
  const StageId router = builder.last();
  builder.from({Port(router, 0), Port(router, 1)}).add_sink(3);
  Pipeline pipeline = must_start(builder);
  auto [items, error] = drain<int>(pipeline);
  ASSERT_TRUE(error);
  EXPECT_NE(error->message().find("lost: chose path 7 of 2"), std::string::npos);
}

// An endless source with an epoch mark after every `n` items.
StepFunction epochs_of(int n) {
  return [n, i = 0](Context& ctx) mutable {
    if (i == n) {
      i = 0;
      ctx.end_epoch();
    } else {
      ctx.emit(Item::of(i++));
    }
    return Step::again;
  };
}

TEST(Pipeline, epoch_marks_come_after_all_items_of_their_epoch_and_before_the_next) {
  PipelineBuilder builder;
  builder.add_source("epochs", epochs_of(50));
  builder.pipe("uneven",
               [](int x) {
                 if (x % 10 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
                 return x;
               },
               {.concurrency = 3});
  builder.aggregate<int>(8).disaggregate<int>();
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 3});
  for (int epoch = 0; epoch < 20; ++epoch) {
    std::vector<int> items;
    Delivery got = pipeline.get_item();
    for (; got.kind == Delivery::Kind::item; got = pipeline.get_item()) {
      items.push_back(got.item.take<int>());
    }
    EXPECT_EQ(got.kind, Delivery::Kind::epoch_end);
    EXPECT_EQ(sorted(items), iota(50));
  }
}

TEST(Pipeline, epochs_stay_apart_over_the_paths_of_a_router) {
  PipelineBuilder builder;
  builder.add_source("epochs", epochs_of(30));
  builder.route(
      "odd", [](const Item& item) { return *item.get<int>() % 2; }, 2);
  const StageId router = builder.last();
  builder.from({Port(router, 0)}).pipe("slow", [](int x) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    return x;
  });
  const StageId slow = builder.last();
  builder.from({Port(router, 1)}).pipe("fast", [](int x) { return x; });
  builder.from({slow, builder.last()}).add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 3});
  for (int epoch = 0; epoch < 10; ++epoch) {
    std::vector<int> items;
    Delivery got = pipeline.get_item();
    for (; got.kind == Delivery::Kind::item; got = pipeline.get_item()) {
      items.push_back(got.item.take<int>());
    }
    EXPECT_EQ(sorted(items), iota(30)) << "epoch " << epoch;
  }
}

TEST(Pipeline, empty_epochs_and_a_last_one_before_the_end_are_seen) {
  PipelineBuilder builder;
  builder.add_source("three empty epochs", [i = 0](Context& ctx) mutable {
    ctx.end_epoch();
    return ++i < 3 ? Step::again : Step::done;
  });
  builder.pipe("same", [](int x) { return x; }).add_sink(1);
  Pipeline pipeline = must_start(builder);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(pipeline.get_item().kind, Delivery::Kind::epoch_end);
  EXPECT_EQ(pipeline.get_item().kind, Delivery::Kind::end);
}

TEST(Pipeline, merged_sources_with_different_ends_end_once) {
  PipelineBuilder builder;
  builder.add_source("one epoch", [i = 0](Context& ctx) mutable {
    if (i == 10) {
      ctx.end_epoch();
      return Step::done;
    }
    ctx.emit(Item::of(i++));
    return Step::again;
  });
  const StageId first = builder.last();
  builder.add_source("plain", count_to(25));
  builder.from({first, builder.last()}).add_sink(2);
  Pipeline pipeline = must_start(builder);
  int items = 0, epochs = 0;
  for (;;) {
    const Delivery got = pipeline.get_item();
    if (got.kind == Delivery::Kind::end) break;
    items += got.kind == Delivery::Kind::item;
    epochs += got.kind == Delivery::Kind::epoch_end;
  }
  EXPECT_EQ(items, 35);
  EXPECT_EQ(epochs, 1);
}

TEST(Pipeline, the_end_can_be_asked_for_again) {
  PipelineBuilder builder;
  builder.add_source("nothing", count_to(0)).add_sink(1);
  Pipeline pipeline = must_start(builder);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(pipeline.get_item().kind, Delivery::Kind::end);
}

TEST(Pipeline, a_timeout_loses_nothing) {
  std::atomic<bool> go{false};
  PipelineBuilder builder;
  builder.add_source("late", [&, i = 0]() mutable -> std::optional<int> {
    while (!go) std::this_thread::yield();
    return i < 3 ? std::optional(i++) : std::nullopt;
  });
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder);
  EXPECT_EQ(pipeline.get_item(std::chrono::milliseconds(5)).kind, Delivery::Kind::timeout);
  EXPECT_EQ(pipeline.get_item(std::chrono::nanoseconds(0)).kind, Delivery::Kind::timeout);
  go = true;
  EXPECT_EQ(drain<int>(pipeline).first, iota(3));
}

TEST(Pipeline, several_pipelines_share_one_pool) {
  auto pool = std::make_shared<WorkerPool>(2);
  std::vector<Pipeline> pipelines;
  for (int i = 0; i < 5; ++i) {
    PipelineBuilder builder;
    builder.add_source("numbers", count_to(500));
    builder.pipe("same", [](int x) { return x; }, {.concurrency = 2}).add_sink(3);
    pipelines.push_back(must_start(builder, {.pool = pool}));
  }
  for (Pipeline& pipeline : pipelines) EXPECT_EQ(sorted(drain<int>(pipeline).first), iota(500));
  EXPECT_EQ(pool->threads(), 2u);
}

}  // namespace
}  // namespace penstock
