// PipelineBuilder and Pipeline: stages joined by bounded queues, run by one scheduler.
//
//   PipelineBuilder builder;
//   builder.add_source("numbers", [i = 0]() mutable -> std::optional<int> {
//     return i < 10 ? std::optional(i++) : std::nullopt; });
//   builder.pipe("square", [](int x) { return x * x; }, {.concurrency = 4});
//   builder.add_sink(3);
//   Result<Pipeline> pipeline = builder.build({.threads = 2});
//
// Stages are added one after the other; each reads what the one before it emits. from() moves
// the point where the next stage is attached, which is how sources are merged and paths of a
// router are filled. Mistakes are collected and reported by build(), with the stage's name.
//
// Thread safety: a builder belongs to one thread. A Pipeline's members may be called from any
// thread, except that one thread at a time may consume (get_item).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "penstock/error.h"
#include "penstock/item.h"
#include "penstock/remote.h"
#include "penstock/stage.h"
#include "penstock/statistics.h"
#include "penstock/worker_pool.h"

namespace penstock {

enum class OnFailure : std::uint8_t {
  drop,     // the item is gone and counted; too many failures end the pipeline
  deliver,  // the error takes the item's place and reaches the consumer when it is due
};

struct FailureReport {
  std::string stage;
  Error error;
  std::uint64_t task = 0;  // how many tasks of the stage were over by then
};

struct BuildOptions {
  int threads = 0;                        // 0: one per core; unused when a pool is given
  std::shared_ptr<WorkerPool> pool = {};  // share the threads of several pipelines
  OnFailure on_failure = OnFailure::drop;
  FailureLimit too_many_failures = {};  // per stage; empty: any number is accepted
  // Called for each failure as it happens, on the thread it happened on, without any lock.
  std::function<void(const FailureReport&)> report_failure = {};
  std::size_t kept_failures = 1000;  // how many failures() remembers
};

// What the consumer got.
struct Delivery {
  enum class Kind : std::uint8_t {
    item,
    epoch_end,  // the source marked the end of an epoch; more may follow
    end,        // nothing will follow
    failed,     // see error; nothing will follow
    timeout,    // nothing came in time; ask again
  };
  Kind kind = Kind::end;
  Item item = {};
  std::optional<Error> error = {};
};

class Pipeline {
 public:
  // Tasks that are running when stop() is called may take this long to return.
  static constexpr std::chrono::milliseconds kStopTimeout{1000};

  Pipeline(Pipeline&&) noexcept = default;
  Pipeline& operator=(Pipeline&&) noexcept;
  ~Pipeline();  // stops it

  // Begins to work. A pipeline starts once.
  Status start();

  // Ends all work, from any state, and frees everything that is under way. Returns when the last
  // running task has returned. A task that takes longer than the timeout is abandoned: the error
  // names its stage, and its result is thrown away when it comes.
  Status stop(std::chrono::nanoseconds timeout = kStopTimeout);

  // The next item. Waits for it at most this long; a negative timeout waits for ever.
  Delivery get_item(std::chrono::nanoseconds timeout = std::chrono::nanoseconds(-1));

  // Items of one type, epoch marks passed over: a value, nothing at the end, or the error.
  template <class T>
  Result<std::optional<T>> next();

  // For threads of a Lane: the next task for it, or nothing at the moment.
  std::optional<RemoteTask> claim(const Lane& lane);

  // Readable at any time, also while it runs and after stop.
  PipelineStats stats() const;
  std::vector<FailureReport> failures() const;  // the first kept_failures

 private:
  friend class PipelineBuilder;
  friend struct engine::Access;
  Pipeline(std::shared_ptr<engine::Engine> engine, std::shared_ptr<WorkerPool> pool);
  std::shared_ptr<WorkerPool> pool_;  // outlives the engine's use of it
  std::shared_ptr<engine::Engine> engine_;
};

using StageId = int;

// An output of a stage: routers have several.
struct Port {
  StageId stage;
  int port = 0;
  Port(StageId stage_id, int port_number = 0) : stage(stage_id), port(port_number) {}  // NOLINT
};

namespace engine {
struct GraphSpec;
}

class PipelineBuilder {
 public:
  PipelineBuilder();
  ~PipelineBuilder();
  PipelineBuilder(PipelineBuilder&&) noexcept;
  PipelineBuilder& operator=(PipelineBuilder&&) noexcept;

  // Sources: a step function, or a callable that returns std::optional<T> (nothing: the end) or
  // Result<std::optional<T>>.
  template <class F>
  PipelineBuilder& add_source(std::string name, F poll, StageOptions options = {});

  // One output at most for each input: a step function, or a callable from In to Out,
  // std::optional<Out> (nothing drops the item) or Result<Out>.
  template <class F>
  PipelineBuilder& pipe(std::string name, F op, StageOptions options = {});

  // Any number of outputs for each input, one at a time, as the next stage has room: a step
  // function, or a callable from In to a generator: a callable that returns std::optional<Out>.
  template <class F>
  PipelineBuilder& stream(std::string name, F op, StageOptions options = {});

  // Fills batches in place. A ticket with `rows(ticket)` rows comes in; workers call `row` for
  // each of them, rows of the oldest ticket first, in parallel; the ticket leaves when its last
  // row is done, tickets in the order in which they came. A failing row fails its ticket.
  PipelineBuilder& fill(std::string name, RowCount rows, RowFunction row,
                        StageOptions options = {});
  // The same for tickets of one type: row(Ticket&, index) or row(Ticket&, index, worker).
  template <class Ticket, class Count, class Row>
  PipelineBuilder& fill(std::string name, Count rows, Row row, StageOptions options = {});

  // n items become one std::vector<T>; the rest at the end of an epoch is a shorter one, or
  // dropped. disaggregate() is the inverse. With T = Item any types can be mixed.
  template <class T = Item>
  PipelineBuilder& aggregate(int n, bool drop_last = false);
  template <class T = Item>
  PipelineBuilder& disaggregate();
  // Aggregation by a function of your own: `step` sees every item and emits when it has enough;
  // `flush` runs at the end of each epoch and emits what is left.
  PipelineBuilder& aggregate(std::string name, StepFunction step, StepFunction flush,
                             StageOptions options = {});

  // Sends each item down one of several paths. Attach the paths with from(Port(router, i)) and
  // join them by from({...}) of their last stages.
  PipelineBuilder& route(std::string name, std::function<int(const Item&)> choose, int paths,
                         StageOptions options = {});
  // The same with a step function, which emits to the port it chooses.
  PipelineBuilder& route(std::string name, StepFunction step, int paths, StageOptions options = {});

  // The next stage reads from these outputs; several of them are merged as items come.
  PipelineBuilder& from(std::vector<Port> outputs);
  // Joins two stages explicitly.
  PipelineBuilder& connect(Port from, StageId to);
  // The stage that was added last.
  StageId last() const noexcept;

  // Where the consumer reads, and how many items may wait there.
  PipelineBuilder& add_sink(int buffer_size = 3);

  // Checks everything and makes the pipeline. A builder builds once.
  Result<Pipeline> build(BuildOptions options = {});

 private:
  enum class Shape : std::uint8_t { one, one_with_waits, many };
  PipelineBuilder& add_source_step(std::string name, StepFunction poll, StageOptions options);
  PipelineBuilder& add_step(std::string name, StepFunction step, Shape shape, StageOptions options);
  PipelineBuilder& mistake(Error error);  // kept for build(), which reports the first
  std::unique_ptr<engine::GraphSpec> graph_;
};

}  // namespace penstock

#include "penstock/typed_stages.h"  // the templates above
