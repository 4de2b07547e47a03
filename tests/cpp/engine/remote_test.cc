// Stages that run elsewhere: a lane of its own claims tasks and completes them later.
#include <condition_variable>
#include <deque>
#include <mutex>

#include "helpers.h"

namespace penstock {
namespace {

// One thread that claims tasks when woken, keeps them, and completes them in reverse order: like
// an event loop with many operations under way.
class LoopLane final : public Lane {
 public:
  explicit LoopLane(std::size_t keep) : keep_(keep) {}
  ~LoopLane() override { end(); }

  bool idle() const noexcept override { return idle_; }
  void wake() noexcept override {
    std::lock_guard hold(lock_);
    woken_ = true;
    cond_.notify_one();
  }

  void run(Pipeline& pipeline, std::function<void(RemoteTask)> complete) {
    thread_ = std::thread([this, &pipeline, complete = std::move(complete)] {
      std::vector<RemoteTask> tasks;
      for (;;) {
        idle_ = false;
        while (auto task = pipeline.claim(*this)) tasks.push_back(std::move(*task));
        idle_ = true;
        if (auto task = pipeline.claim(*this)) {  // look again after saying that we are idle
          tasks.push_back(std::move(*task));
          continue;
        }
        most_ = std::max<std::size_t>(most_, tasks.size());
        if (!tasks.empty() && (tasks.size() >= keep_ || tired_)) {
          RemoteTask task = std::move(tasks.back());
          tasks.pop_back();
          complete(std::move(task));
          continue;
        }
        std::unique_lock hold(lock_);
        if (ending_) return;
        tired_ = !cond_.wait_for(hold, std::chrono::milliseconds(50), [&] { return woken_; });
        woken_ = false;
      }
    });
  }

  void end() {
    if (!thread_.joinable()) return;
    {
      std::lock_guard hold(lock_);
      ending_ = true;
    }
    thread_.join();
  }

  std::size_t most() const { return most_; }

 private:
  const std::size_t keep_;
  std::atomic<bool> idle_{false};
  std::atomic<std::size_t> most_{0};
  std::mutex lock_;
  std::condition_variable cond_;
  bool woken_ = false;
  bool ending_ = false;
  bool tired_ = false;
  std::thread thread_;
};

TEST(Remote, tasks_complete_later_and_in_any_order) {
  auto lane = std::make_shared<LoopLane>(4);
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(200));
  builder.pipe("elsewhere", [](Context&) { return Step::done; },
               {.concurrency = 4, .order = Order::input, .lane = lane});
  builder.pipe("back", [](int x) { return x; });
  builder.add_sink(3);
  Pipeline pipeline = must_build(builder);
  lane->run(pipeline, [](RemoteTask task) {
    Item item = std::move(task.item());
    std::move(task).finish(std::move(item));
  });
  ASSERT_TRUE(pipeline.start().ok());
  EXPECT_EQ(drain<int>(pipeline).first, iota(200)) << "in input order though completed in reverse";
  EXPECT_EQ(lane->most(), 4u) << "as many at once as the concurrency allows";
  lane->end();
}

TEST(Remote, a_source_may_live_elsewhere) {
  auto lane = std::make_shared<LoopLane>(1);
  PipelineBuilder builder;
  builder.add_source("elsewhere", [](Context&) { return Step::done; }, {.lane = lane});
  builder.pipe("same", [](int x) { return x; }).add_sink(3);
  Pipeline pipeline = must_build(builder);
  int next = 0;
  lane->run(pipeline, [&](RemoteTask task) {
    if (next == 100) {
      std::move(task).drop();
    } else {
      std::move(task).finish(Item::of(next++));
    }
  });
  ASSERT_TRUE(pipeline.start().ok());
  EXPECT_EQ(drain<int>(pipeline).first, iota(100));
  lane->end();
}

TEST(Remote, failed_dropped_and_forgotten_tasks_are_accounted_for) {
  auto lane = std::make_shared<LoopLane>(1);
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(40));
  builder.pipe("elsewhere", [](Context&) { return Step::done; }, {.lane = lane});
  builder.add_sink(3);
  Pipeline pipeline = must_build(builder);
  lane->run(pipeline, [](RemoteTask task) {
    Item item = std::move(task.item());
    const int x = *item.get<int>();
    if (x % 4 == 0) std::move(task).finish(std::move(item));
    if (x % 4 == 1) std::move(task).fail(Error(Code::failed, "one"));
    if (x % 4 == 2) std::move(task).drop();
    // x % 4 == 3: the task is forgotten
  });
  ASSERT_TRUE(pipeline.start().ok());
  EXPECT_EQ(drain<int>(pipeline).first.size(), 10u);
  const StageStats stats = pipeline.stats().stages[1];
  EXPECT_EQ(stats.failures, 20u);
  EXPECT_EQ(stats.dropped, 10u);
  EXPECT_EQ(pipeline.failures()[1].error.message(),
            "elsewhere: the task was abandoned by its lane");
  lane->end();
}

TEST(Remote, a_task_that_outlives_the_pipeline_is_harmless) {
  auto lane = std::make_shared<LoopLane>(1);
  std::optional<RemoteTask> kept;
  {
    PipelineBuilder builder;
    builder.add_source("numbers", count_to(1));
    builder.pipe("elsewhere", [](Context&) { return Step::done; }, {.lane = lane}).add_sink(1);
    Pipeline pipeline = must_start(builder);
    while (!kept) kept = pipeline.claim(*lane);
    EXPECT_FALSE(pipeline.stop(std::chrono::milliseconds(5)).ok()) << "it is still out there";
  }
  std::move(*kept).finish(Item::of(1));
}

}  // namespace
}  // namespace penstock
