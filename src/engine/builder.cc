#include <system_error>
#include <utility>

#include "engine/engine.h"
#include "engine/graph.h"
#include "penstock/pipeline.h"

namespace penstock {

using engine::Kind;
using engine::StageSpec;

namespace {

// Adds a stage behind the current end of the chain.
void append(engine::GraphSpec& graph, StageSpec spec) {
  if (graph.built && !graph.mistake) {
    graph.mistake = Error(
        Code::invalid_argument,
        "stage '" + spec.name + "' was added after build; a builder builds once: make a new one");
  }
  const auto id = static_cast<StageId>(graph.stages.size());
  if (spec.kind != Kind::source) {
    for (const Port& from : graph.tail) graph.edges.push_back({from, id});
  }
  graph.tail.clear();
  if (spec.paths == 1) graph.tail.push_back(Port(id));  // a router's paths are chosen with from
  graph.stages.push_back(std::move(spec));
}

}  // namespace

PipelineBuilder::PipelineBuilder() : graph_(std::make_unique<engine::GraphSpec>()) {}
PipelineBuilder::~PipelineBuilder() = default;
PipelineBuilder::PipelineBuilder(PipelineBuilder&&) noexcept = default;
PipelineBuilder& PipelineBuilder::operator=(PipelineBuilder&&) noexcept = default;

PipelineBuilder& PipelineBuilder::mistake(Error error) {
  if (!graph_->mistake) graph_->mistake = std::move(error);
  return *this;
}

PipelineBuilder& PipelineBuilder::add_source_step(std::string name, StepFunction poll,
                                                  StageOptions options) {
  append(*graph_, {.name = std::move(name),
                   .kind = Kind::source,
                   .step = std::move(poll),
                   .options = std::move(options)});
  return *this;
}

PipelineBuilder& PipelineBuilder::add_step(std::string name, StepFunction step, Shape shape,
                                           StageOptions options) {
  append(*graph_, {.name = std::move(name),
                   .kind = shape == Shape::many ? Kind::stream : Kind::pipe,
                   .step = std::move(step),
                   .may_wait = shape == Shape::one_with_waits,
                   .options = std::move(options)});
  return *this;
}

PipelineBuilder& PipelineBuilder::fill(std::string name, RowCount rows, RowFunction row,
                                       StageOptions options) {
  append(*graph_, {.name = std::move(name),
                   .kind = Kind::fill,
                   .rows = std::move(rows),
                   .row = std::move(row),
                   .options = std::move(options)});
  return *this;
}

PipelineBuilder& PipelineBuilder::aggregate(std::string name, StepFunction step, StepFunction flush,
                                            StageOptions options) {
  options.flush = std::move(flush);
  append(*graph_, {.name = std::move(name),
                   .kind = Kind::pipe,
                   .step = std::move(step),
                   .gathers = true,
                   .options = std::move(options)});
  return *this;
}

PipelineBuilder& PipelineBuilder::route(std::string name, std::function<int(const Item&)> choose,
                                        int paths, StageOptions options) {
  StepFunction step;
  if (choose) {
    step = [choose = std::move(choose)](Context& ctx) {
      const int path = choose(ctx.item());
      ctx.emit(std::move(ctx.item()), path);
      return Step::done;
    };
  }
  return route(std::move(name), std::move(step), paths, std::move(options));
}

PipelineBuilder& PipelineBuilder::route(std::string name, StepFunction step, int paths,
                                        StageOptions options) {
  append(*graph_, {.name = std::move(name),
                   .kind = Kind::pipe,
                   .step = std::move(step),
                   .paths = paths,
                   .routes = true,
                   .options = std::move(options)});
  return *this;
}

PipelineBuilder& PipelineBuilder::from(std::vector<Port> outputs) {
  graph_->tail = std::move(outputs);
  return *this;
}

PipelineBuilder& PipelineBuilder::connect(Port from, StageId to) {
  graph_->edges.push_back({from, to});
  return *this;
}

StageId PipelineBuilder::last() const noexcept {
  return static_cast<StageId>(graph_->stages.size()) - 1;
}

PipelineBuilder& PipelineBuilder::add_sink(int buffer_size) {
  if (graph_->sink_size) {
    return mistake(Error(Code::invalid_argument, "add_sink: the pipeline has a sink already"));
  }
  graph_->sink_size = buffer_size;
  for (const Port& from : graph_->tail) {
    graph_->edges.push_back({from, engine::GraphSpec::kSink});
  }
  graph_->tail.clear();
  return *this;
}

Result<Pipeline> PipelineBuilder::build(BuildOptions options) {
  if (graph_->built && !graph_->mistake) {
    mistake(Error(Code::invalid_argument,
                  "build: a builder builds once; make a new one for another pipeline"));
  }
  if (options.threads < 0) {
    mistake(Error(Code::invalid_argument, "build: threads is " + std::to_string(options.threads) +
                                              "; give 1 or more, or 0 for one per core"));
  }
  std::vector<int> depth;
  if (Status status = graph_->check(depth); !status.ok()) return std::move(status).error();
  graph_->built = true;
  std::shared_ptr<WorkerPool> pool = options.pool;
  if (pool == nullptr) {
    try {
      pool = std::make_shared<WorkerPool>(static_cast<unsigned>(options.threads));
    } catch (const std::system_error& error) {
      return Error(Code::failed, std::string("build: cannot make threads: ") + error.what());
    }
  }
  auto engine = std::make_shared<engine::Engine>(std::exchange(*graph_, {.built = true}), depth,
                                                 options, pool->state_);
  return Pipeline(std::move(engine), std::move(pool));
}

Pipeline::Pipeline(std::shared_ptr<engine::Engine> engine, std::shared_ptr<WorkerPool> pool)
    : pool_(std::move(pool)), engine_(std::move(engine)) {}

Pipeline& Pipeline::operator=(Pipeline&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(engine_, other.engine_);
  return *this;
}

Pipeline::~Pipeline() {
  if (engine_ != nullptr) (void)engine_->stop(kStopTimeout);
}

Status Pipeline::start() {
  return engine_->start();
}
Status Pipeline::stop(std::chrono::nanoseconds timeout) {
  return engine_->stop(timeout);
}
Delivery Pipeline::get_item(std::chrono::nanoseconds timeout) {
  return engine_->get_item(timeout);
}
std::optional<RemoteTask> Pipeline::claim(const Lane& lane) {
  return engine_->claim_remote(lane);
}
PipelineStats Pipeline::stats() const {
  return engine_->stats();
}
std::vector<FailureReport> Pipeline::failures() const {
  return engine_->failures();
}

}  // namespace penstock
