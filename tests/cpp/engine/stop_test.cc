// Stopping: from any state, promptly, with nothing left behind.
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "helpers.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

// Every kind of stage at once, on counted items.
void add_everything(PipelineBuilder& builder) {
  builder.add_source("numbers",
                     [i = 0]() mutable -> std::optional<Counted> { return Counted(i++); });
  builder.pipe("ordered", [](Counted x) { return x; }, {.concurrency = 3, .order = Order::input});
  builder.pipe("sometimes fails", [](Counted x) -> Result<Counted> {
    if (x.value() % 17 == 0) return Error(Code::failed, "unlucky");
    return x;
  });
  builder.aggregate<Counted>(4).disaggregate<Counted>();
  builder.route(
      "odd", [](const Item& item) { return item.get<Counted>()->value() % 2; }, 2);
  const StageId router = builder.last();
  builder.from({Port(router, 0)}).pipe("even", [](Counted x) { return x; }, {.concurrency = 2});
  const StageId even = builder.last();
  builder.from({Port(router, 1)}).pipe("odd", [](Counted x) { return x; });
  builder.from({even, builder.last()});
  builder.pipe("ticket", [](Counted x) { return std::make_shared<Counted>(std::move(x)); });
  builder.fill<std::shared_ptr<Counted>>(
      "rows", [](const auto&) { return 8; }, [](auto&, std::size_t) { return Status(); });
  builder.add_sink(3);
}

TEST(Stop, a_thousand_stops_at_random_moments_leave_nothing) {
  const std::size_t threads_before = thread_count();
  std::mt19937 random(7);
  for (int round = 0; round < 1000; ++round) {
    {
      PipelineBuilder builder;
      add_everything(builder);
      Pipeline pipeline = must_start(builder, {.threads = 1 + round % 3});
      const int items = static_cast<int>(random() % 40);
      for (int i = 0; i < items; ++i) {
        ASSERT_EQ(pipeline.get_item().kind, Delivery::Kind::item);
      }
      const auto pause = std::chrono::microseconds(random() % 200);
      if (round % 2) std::this_thread::sleep_for(pause);
      if (round % 3) {
        ASSERT_TRUE(pipeline.stop(std::chrono::seconds(30)).ok());
      }
      ASSERT_TRUE(round % 3 == 0 || Counted::alive == 0) << "round " << round;
    }
    ASSERT_EQ(Counted::alive, 0) << "round " << round;
  }
  // One that was joined may be listed for a moment more.
  EXPECT_TRUE(wait_until([&] { return thread_count() == threads_before; }));
}

TEST(Stop, a_consumer_that_waits_is_let_go) {
  std::atomic<bool> entered{false};
  PipelineBuilder builder;
  Waker never;
  builder.add_source("silent", [&](Context& ctx) {
    never = ctx.waker();
    entered = true;
    return Step::blocked;
  });
  builder.add_sink(1);
  Pipeline pipeline = must_start(builder);
  std::thread stopper([&] {
    while (!entered) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(pipeline.stop().ok());
  });
  EXPECT_EQ(pipeline.get_item().error->code(), Code::closed);
  stopper.join();
  never.wake();  // late: the pipeline is gone
}

TEST(Stop, a_blocked_task_frees_its_item_though_its_waker_lives) {
  Waker waker;
  std::atomic<bool> entered{false};
  PipelineBuilder builder;
  builder.add_source("one", [i = 0]() mutable -> std::optional<Counted> {
    if (i++ > 0) return std::nullopt;
    return Counted(1);
  });
  builder.pipe("waits", [&](Context& ctx) {
    waker = ctx.waker();
    entered = true;
    return Step::blocked;
  });
  builder.add_sink(1);
  Pipeline pipeline = must_start(builder);
  while (!entered) std::this_thread::yield();
  EXPECT_TRUE(pipeline.stop().ok());
  EXPECT_EQ(Counted::alive, 0);
  waker.wake();
}

TEST(Stop, a_blocked_task_goes_on_when_it_is_woken) {
  std::vector<Waker> wakers;
  std::atomic<int> blocked{0};
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(3));
  builder.pipe("twice", [&, seen = std::array<bool, 3>{}](Context& ctx) mutable {
    const auto x = static_cast<std::size_t>(*ctx.item().get<int>());
    if (!std::exchange(seen[x], true)) {
      wakers.push_back(ctx.waker());
      blocked++;
      return Step::blocked;
    }
    ctx.emit(std::move(ctx.item()));
    return Step::done;
  });
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 1});
  for (int i = 0; i < 3; ++i) {
    while (blocked <= i) std::this_thread::yield();
    EXPECT_EQ(pipeline.get_item(std::chrono::milliseconds(2)).kind, Delivery::Kind::timeout);
    wakers[static_cast<std::size_t>(i)].wake();
    EXPECT_EQ(**pipeline.next<int>(), i);
  }
}

TEST(Stop, a_blocked_task_keeps_its_place_in_the_order) {
  Waker first;
  std::atomic<bool> waiting{false};
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(50));
  builder.pipe("first waits",
               [&](Context& ctx) {
                 if (*ctx.item().get<int>() == 0 && !waiting.exchange(true)) {
                   first = ctx.waker();
                   return Step::blocked;
                 }
                 ctx.emit(std::move(ctx.item()));
                 return Step::done;
               },
               {.concurrency = 4, .order = Order::input});
  builder.add_sink(2);
  Pipeline pipeline = must_start(builder, {.threads = 2});
  while (!waiting) std::this_thread::yield();
  EXPECT_EQ(pipeline.get_item(std::chrono::milliseconds(5)).kind, Delivery::Kind::timeout);
  first.wake();
  EXPECT_EQ(drain<int>(pipeline).first, iota(50));
}

TEST(Stop, a_task_that_does_not_return_is_abandoned_and_named) {
  auto release = std::make_shared<std::atomic<bool>>(false);
  auto inside = std::make_shared<std::atomic<bool>>(false);
  std::atomic<bool>* inside_now = inside.get();
  std::optional<Pipeline> pipeline;
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(1));
  builder.pipe("sleeper", [release, inside](int x) {
    *inside = true;
    while (!*release) std::this_thread::yield();
    return x;
  });
  builder.add_sink(1);
  pipeline.emplace(must_start(builder, {.threads = 1}));
  while (!*inside_now) std::this_thread::yield();
  const auto before = Clock::now();
  const Status stopped = pipeline->stop(std::chrono::milliseconds(20));
  EXPECT_LT(Clock::now() - before, std::chrono::seconds(10));
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().message(), "stop: abandoned what is still running in stage sleeper");
  *release = true;
  pipeline.reset();
}

TEST(Stop, a_pipeline_that_was_never_started_goes_quietly) {
  const std::size_t before = thread_count();
  {
    PipelineBuilder builder;
    builder.add_source("numbers", count_to(1)).add_sink(1);
    Pipeline pipeline = must_build(builder);
  }
  EXPECT_EQ(thread_count(), before);
}

TEST(Stop, what_the_stages_hold_is_freed_with_the_pipeline) {
  auto held = std::make_shared<int>(1);
  {
    PipelineBuilder builder;
    builder.add_source("numbers", count_to(10));
    builder.pipe("holds", [held](int x) { return x + *held; }).add_sink(1);
    Pipeline pipeline = must_start(builder);
    EXPECT_TRUE(pipeline.next<int>().ok());
    EXPECT_TRUE(pipeline.stop().ok());
    EXPECT_EQ(held.use_count(), 1);
  }
}

#if !defined(__SANITIZE_THREAD__)
TEST(Stop, a_forked_child_gets_an_error_and_exits_without_a_hang) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_for_ever());
  builder.pipe("same", [](int x) { return x; }).add_sink(3);
  Pipeline pipeline = must_start(builder);
  EXPECT_EQ(pipeline.get_item().kind, Delivery::Kind::item);
  const pid_t child = fork();
  if (child == 0) {
    Delivery got = pipeline.get_item();
    const bool refused =
        got.kind == Delivery::Kind::failed && got.error->code() == Code::unsupported;
    { Pipeline gone = std::move(pipeline); }  // must not wait for threads that do not exist
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(pipeline.get_item().kind, Delivery::Kind::item) << "the parent goes on";
}
#endif

}  // namespace
}  // namespace penstock
