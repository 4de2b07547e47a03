// Traces are whole however many threads write them. What is in the file is checked in Python.
#include "penstock/trace.h"

#include <unistd.h>

#include "engine/trace.h"
#include "helpers.h"

namespace penstock {
namespace {

struct Ended {
  ~Ended() { drop_trace(); }
};

std::string file_named(const std::string& name) {
  return (std::filesystem::temp_directory_path() / (name + std::to_string(getpid()))).string();
}

TEST(Trace, slices_of_all_threads_are_recorded_once) {
  const Ended ended;
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(500));
  builder.pipe("slow",
               [](int x) {
                 std::this_thread::sleep_for(std::chrono::microseconds(20));
                 return x;
               },
               {.concurrency = 3});
  builder.add_sink(4);
  ASSERT_TRUE(start_trace().ok());
  Pipeline pipeline = must_start(builder, {.threads = 3});
  EXPECT_EQ(drain<int>(pipeline).first.size(), 500u);
  ASSERT_TRUE(pipeline.stop().ok());
  const auto recording = engine::end_recording();
  ASSERT_NE(recording, nullptr);
  std::vector<int> positions;
  for (const engine::TraceLane& lane : recording->lanes) {
    std::int64_t last = 0;
    for (const engine::TraceSlice& slice : lane.slices) {
      if (slice.kind == engine::TraceSlice::Kind::outputs) continue;
      EXPECT_LE(last, slice.start) << "slices of a thread do not overlap";
      EXPECT_LE(slice.start, slice.end);
      last = slice.end;
      if (*slice.name != "slow") continue;
      for (std::uint32_t i = 0; i < slice.count; ++i)
        positions.push_back(static_cast<int>(slice.position + i));
    }
  }
  EXPECT_EQ(sorted(positions), iota(500));
}

TEST(Trace, it_may_begin_and_end_at_any_time) {
  const Ended ended;
  PipelineBuilder builder;
  builder.add_source("numbers", count_for_ever());
  builder.pipe("same", [](int x) { return x; }, {.concurrency = 2});
  builder.fill<int>(
      "rows", [](int) { return std::size_t{4}; }, [](int&, std::size_t) -> Status { return {}; });
  builder.add_sink(4);
  Pipeline pipeline = must_start(builder, {.threads = 3});
  std::size_t slices = 0;
  for (int round = 0; round < 50; ++round) {
    ASSERT_TRUE(start_trace(64).ok());
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(pipeline.next<int>().ok());
    const auto recording = engine::end_recording();
    ASSERT_NE(recording, nullptr);
    for (const engine::TraceLane& lane : recording->lanes) slices += lane.slices.size();
  }
  EXPECT_GT(slices, 50u);
  ASSERT_TRUE(pipeline.stop().ok());
}

TEST(Trace, a_thread_keeps_its_last_slices_of_plain_and_failed_tasks) {
  const Ended ended;
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(3000));
  builder.pipe("thirds", [](int x) -> Result<int> {
    if (x % 3 == 0) return Error(Code::failed, "a third");
    return x;
  });
  builder.add_sink(4);
  ASSERT_TRUE(start_trace(20).ok());
  Pipeline pipeline = must_start(builder, {.threads = 1, .on_failure = OnFailure::drop});
  EXPECT_EQ(drain<int>(pipeline).first.size(), 2000u);
  ASSERT_TRUE(pipeline.stop().ok());
  const auto recording = engine::end_recording();
  ASSERT_NE(recording, nullptr);
  std::uint64_t lost = 0, last_position = 0;
  for (const engine::TraceLane& lane : recording->lanes) {
    EXPECT_LE(lane.slices.size(), 20u);
    lost += lane.lost;
    std::int64_t last = 0;
    for (const engine::TraceSlice& slice : lane.slices) {
      EXPECT_LE(last, slice.end) << "oldest first";
      last = slice.end;
      if (*slice.name == "thirds") last_position = slice.position + slice.count;
    }
  }
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(last_position, 3000u);
}

TEST(Trace, a_file_is_written_or_the_reason_is_given) {
  const Ended ended;
  EXPECT_EQ(write_trace("/dev/null").error().code(), Code::invalid_argument);
  EXPECT_EQ(start_trace(0).error().code(), Code::invalid_argument);
  ASSERT_TRUE(start_trace().ok());
  EXPECT_EQ(start_trace().error().code(), Code::invalid_argument);
  const std::string path = file_named("penstock-trace");
  ASSERT_TRUE(write_trace(path).ok());
  EXPECT_GT(std::filesystem::file_size(path), 0u);
  std::filesystem::remove(path);
  ASSERT_TRUE(start_trace().ok());
  const Status status = write_trace(path + "/none");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::io);
  EXPECT_EQ(status.error().where().file, path + "/none");
}

}  // namespace
}  // namespace penstock
