// A task knows its item's place among all that its stage has taken.
#include <vector>

#include "helpers.h"

namespace penstock {
namespace {

TEST(Position, is_the_order_of_arrival_whatever_finishes_first) {
  for (const int concurrency : {1, 4}) {
    std::vector<std::atomic<int>> place(2'000);
    PipelineBuilder builder;
    builder.add_source("numbers", count_to(2'000));
    builder.pipe("note", StepFunction([&](Context& ctx) {
                   const int x = *ctx.item().get<int>();
                   if (x % 97 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
                   place[ctx.position()] = x;
                   return x % 3 == 0 ? ctx.fail(Error(Code::failed, "every third")) : Step::done;
                 }),
                 {.concurrency = concurrency});
    builder.add_sink(3);
    Pipeline pipeline = must_start(builder, {.threads = 4});
    (void)drain<int>(pipeline);
    for (int i = 0; i < 2'000; ++i) ASSERT_EQ(place[std::size_t(i)], i);
  }
}

TEST(Position, stays_with_a_task_that_goes_on_later) {
  std::vector<std::atomic<int>> place(50);
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(50));
  builder.pipe("twice", StepFunction([&](Context& ctx) {
                 const int x = *ctx.item().get<int>();
                 if (x < 1'000) {
                   ctx.item() = Item::of(x + 1'000);
                   return Step::again;
                 }
                 place[ctx.position()] = x - 1'000;
                 return Step::done;
               }),
               {.concurrency = 3});
  builder.add_sink(3);
  Pipeline pipeline = must_start(builder, {.threads = 2});
  (void)drain<int>(pipeline);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(place[std::size_t(i)], i);
}

}  // namespace
}  // namespace penstock
