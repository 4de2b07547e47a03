// Mistakes get an error that names the argument or the stage and says what to do.
#include "helpers.h"

namespace penstock {
namespace {

std::string build_error(PipelineBuilder& builder, BuildOptions options = {.threads = 1}) {
  Result<Pipeline> built = builder.build(std::move(options));
  return built.ok() ? "no error" : built.error().message();
}

int same(int x) {
  return x;
}

TEST(BadUse, negative_concurrency_names_the_stage) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(1)).pipe("decode", &same, {.concurrency = -2}).add_sink(1);
  EXPECT_EQ(build_error(builder), "stage 'decode': concurrency is -2; it must be 1 or more");
}

TEST(BadUse, a_queue_of_zero_names_the_stage) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(1)).pipe("decode", &same, {.queue_size = 0}).add_sink(1);
  EXPECT_EQ(build_error(builder), "stage 'decode': queue_size is 0; it must be 1 or more");
}

TEST(BadUse, a_sink_of_size_zero_is_refused) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(1)).add_sink(0);
  EXPECT_EQ(build_error(builder), "add_sink: buffer_size is 0; it must be 1 or more");
}

TEST(BadUse, a_pipeline_needs_a_source_and_a_sink) {
  PipelineBuilder no_source;
  no_source.add_sink(1);
  EXPECT_EQ(build_error(no_source), "the pipeline has no source; call add_source first");
  PipelineBuilder no_sink;
  no_sink.add_source("numbers", count_to(1));
  EXPECT_EQ(build_error(no_sink), "the pipeline has no sink; call add_sink last");
  PipelineBuilder two_sinks;
  two_sinks.add_source("numbers", count_to(1)).add_sink(1).add_sink(1);
  EXPECT_EQ(build_error(two_sinks), "add_sink: the pipeline has a sink already");
}

TEST(BadUse, a_cycle_names_a_stage_in_it) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(1));
  builder.pipe("a", &same);
  const StageId a = builder.last();
  builder.route(
      "b", [](const Item&) { return 0; }, 2);
  const StageId b = builder.last();
  builder.connect(Port(b, 1), a);
  builder.from({Port(b, 0)}).add_sink(1);
  const std::string message = build_error(builder);
  EXPECT_NE(message.find("is part of a cycle; items must flow from a source to the sink"),
            std::string::npos)
      << message;
}

TEST(BadUse, a_stage_added_after_build_is_named) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(1)).add_sink(1);
  Pipeline pipeline = must_build(builder);
  builder.pipe("late", &same);
  EXPECT_EQ(build_error(builder),
            "stage 'late' was added after build; a builder builds once: make a new one");
}

TEST(BadUse, a_builder_builds_once) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(1)).add_sink(1);
  Pipeline pipeline = must_build(builder);
  EXPECT_EQ(build_error(builder),
            "build: a builder builds once; make a new one for another pipeline");
}

TEST(BadUse, starting_twice_and_after_stop_says_what_to_do) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(1)).add_sink(1);
  Pipeline pipeline = must_start(builder);
  EXPECT_EQ(pipeline.start().error().message(),
            "start: the pipeline is running already; start it once");
  EXPECT_TRUE(pipeline.stop().ok());
  EXPECT_TRUE(pipeline.stop().ok()) << "stopping twice is fine";
  EXPECT_EQ(pipeline.start().error().message(), "start: the pipeline was stopped; build a new one");
}

TEST(BadUse, asking_before_start_and_after_stop_is_an_error_not_a_hang) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(1)).add_sink(1);
  Pipeline pipeline = must_build(builder);
  EXPECT_EQ(pipeline.get_item().error->message(),
            "get_item: the pipeline is not running; call start");
  EXPECT_TRUE(pipeline.start().ok());
  EXPECT_TRUE(pipeline.stop().ok());
  EXPECT_EQ(pipeline.get_item().error->message(), "get_item: the pipeline was stopped");
}

TEST(BadUse, loose_ends_are_named) {
  PipelineBuilder unread_path;
  unread_path.add_source("numbers", count_to(1))
      .route(
          "choose", [](const Item&) { return 0; }, 2);
  unread_path.from({Port(unread_path.last(), 0)}).add_sink(1);
  EXPECT_EQ(build_error(unread_path),
            "stage 'choose' path 1 leads nowhere; attach a stage or the sink to it");

  PipelineBuilder no_input;
  no_input.pipe("alone", &same);
  no_input.add_source("numbers", count_to(1)).add_sink(1);
  EXPECT_EQ(build_error(no_input),
            "stage 'alone' has no input; add a source before it or use from");

  PipelineBuilder read_twice;
  read_twice.add_source("numbers", count_to(1));
  const StageId source = read_twice.last();
  read_twice.pipe("a", &same);
  const StageId a = read_twice.last();
  read_twice.from({source}).pipe("b", &same);
  read_twice.from({a, read_twice.last()}).add_sink(1);
  EXPECT_EQ(build_error(read_twice),
            "stage 'numbers' is read by two stages; use route to share its items out");

  PipelineBuilder unknown;
  unknown.add_source("numbers", count_to(1)).connect(Port(0), 9).add_sink(1);
  EXPECT_EQ(build_error(unknown),
            "connect: there is no stage with the number 9; use the numbers that last() gave");
}

TEST(BadUse, other_arguments_are_named_too) {
  PipelineBuilder no_groups;
  no_groups.add_source("numbers", count_to(1)).aggregate<int>(0).add_sink(1);
  EXPECT_EQ(build_error(no_groups), "aggregate: n is 0; give the number of items, 1 or more");

  PipelineBuilder no_function;
  no_function.add_source("numbers", StepFunction()).add_sink(1);
  EXPECT_EQ(build_error(no_function),
            "stage 'numbers': its function is empty; give one that can be called");

  PipelineBuilder no_threads;
  no_threads.add_source("numbers", count_to(1)).add_sink(1);
  EXPECT_EQ(build_error(no_threads, {.threads = -1}),
            "build: threads is -1; give 1 or more, or 0 for one per core");

  PipelineBuilder parallel_source;
  parallel_source.add_source("numbers", count_to(1), {.concurrency = 2}).add_sink(1);
  EXPECT_EQ(build_error(parallel_source),
            "stage 'numbers': concurrency is 2, but a source or an aggregator runs one task at a "
            "time; leave it out");
}

TEST(BadUse, a_pipe_that_emits_and_wants_more_is_told_to_be_a_stream) {
  PipelineBuilder builder;
  builder.add_source("numbers", count_to(1));
  builder.pipe("greedy", [first = true](Context& ctx) mutable {
    if (std::exchange(first, false)) return Step::again;
    ctx.emit(Item::of(1));
    return Step::again;
  });
  builder.add_sink(1);
  Pipeline pipeline = must_start(builder, {.threads = 1, .on_failure = OnFailure::deliver});
  auto [items, error] = drain<int>(pipeline);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "greedy: a pipe emits one output and is done; use stream for more");
}

}  // namespace
}  // namespace penstock
