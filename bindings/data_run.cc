#include "data_run.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <mutex>

#include "data/batch_size.h"
#include "data_values.h"
#include "engine/clock.h"
#include "engine/fork.h"
#include "errors.h"
#include "released.h"
#include "texts.h"

namespace nb = nanobind;

namespace penstock::bindings {
namespace {

// Notes what a user's function is called with, for as long as it runs.
class InProgress {
 public:
  explicit InProgress(PyObject* input) noexcept { input_in_progress() = input; }
  ~InProgress() { input_in_progress() = nullptr; }
};

nb::object called(const Kept& function, const nb::tuple& arguments) {
  PyObject* result = or_wait([&] { return PyObject_CallObject(function->get(), arguments.ptr()); });
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

Result<bool> call_python(const Kept& function, PlanBuilder::Arguments arguments,
                         const data::CallTask& task, data::Row& row) {
  using Arguments = PlanBuilder::Arguments;
  const Held held;
  try {
    const nb::dict sample = to_python(row);
    const InProgress noted(sample.ptr());
    nb::tuple all;
    if (arguments == Arguments::sample) {
      all = nb::make_tuple(sample);
    } else if (arguments == Arguments::row) {
      all = nb::make_tuple(sample, task.epoch, task.position);
    } else {
      nb::list places;
      for (const data::Place& place : task.places) {
        if (place.leaf == data::Place::kNone) continue;
        places.append(nb::make_tuple(place.leaf, place.record));
      }
      all = nb::make_tuple(sample, places);
    }
    const nb::object result = called(function, all);
    if (result.is_none()) return false;
    row = or_wait([&] { return to_row(result); });
    return true;
  } catch (nb::python_error& error) {
    error.restore();
    return error_of_exception(pending_exception(), nullptr);
  } catch (const std::exception& error) {
    return Error(Code::failed, error.what());
  }
}

// A sample of a stream. An exception in its place is why it could not be read.
void set_row(nb::handle sample, data::BatchRow& row) {
  const auto fail = [&row](Error error) {
    row.state = data::RowState::failed;
    row.error = std::make_unique<Error>(std::move(error));
  };
  if (PyExceptionInstance_Check(sample.ptr())) {
    return fail(error_of_exception(nb::borrow(sample).release().ptr(), nullptr));
  }
  try {
    row.row = to_row(sample);
  } catch (nb::python_error& error) {
    error.restore();
    fail(error_of_exception(pending_exception(), nullptr));
  } catch (const std::exception& error) {
    fail(Error(Code::failed, error.what()));
  }
}

// Batches of a stream, as Python's iterator hands them out. What the iterator raises is the last
// batch's failure, so that all earlier ones are delivered.
StepFunction read_stream(const Kept& rows, const RunSettings& settings) {
  auto over = std::make_shared<bool>(false);
  auto number = std::make_shared<std::uint64_t>(0);
  return [rows, settings, over, number](Context& ctx) {
    if (*over) return Step::done;
    auto batch = std::make_shared<data::Batch>();
    batch->number = (*number)++;
    batch->epoch = settings.epoch;
    try {
      PyObject* next = or_wait([&] { return PyIter_Next(rows->get()); });
      if (next == nullptr && PyErr_Occurred() == nullptr) return Step::done;
      if (next == nullptr) throw nb::python_error();
      const nb::tuple round = nb::steal<nb::tuple>(next);
      for (nb::handle sample : nb::cast<nb::list>(round[1])) {
        set_row(sample, batch->work.emplace_back());
      }
      batch->rows = {nb::cast<std::uint64_t>(round[0]), settings.share.world, batch->work.size(),
                     nb::cast<std::uint64_t>(round[2])};
      batch->state = std::make_shared<PyValue>(PyValue::borrow(round[3].ptr()));
    } catch (nb::python_error& error) {
      error.restore();
      *over = true;
      batch->work.resize(1);  // a row, so that the batch comes through; nothing of it is left
      batch->work[0].state = data::RowState::removed;
      batch->failure = error_of_exception(pending_exception(), nullptr);
    }
    ctx.emit(Item::of(std::move(batch)));
    return Step::again;
  };
}

// One pool of native workers for all loaders that do not ask for threads of their own.
std::shared_ptr<WorkerPool> shared_workers() {
  static std::mutex lock;
  static auto* pool = new std::shared_ptr<WorkerPool>;  // never destroyed: threads outlive main
  static std::uint64_t process = 0;
  const std::lock_guard hold(lock);
  if (*pool == nullptr || process != engine::process_number()) {
    if (*pool != nullptr)
      pool = new std::shared_ptr<WorkerPool>;  // the parent's has no threads here
    *pool = std::make_shared<WorkerPool>();
    process = engine::process_number();
  }
  return *pool;
}

}  // namespace

void PlanBuilder::add(data::StepPtr step) {
  if (!leaf) {
    segments.back().steps.push_back(std::move(step));
    return;
  }
  if (own_steps.size() <= *leaf) own_steps.resize(*leaf + 1);
  own_steps[*leaf].push_back(std::move(step));
}

void PlanBuilder::call(nb::object function, std::string name, int concurrency,
                       Arguments arguments) {
  functions.push_back(keep(std::move(function)));
  data::Segment& segment = segments.back();
  segment.call = [function = functions.back(), arguments](const data::CallTask& task,
                                                          data::Row& row) {
    return call_python(function, arguments, task, row);
  };
  segment.call_name = std::move(name);
  segment.concurrency = concurrency;
  segments.emplace_back();
}

data::PlanPtr PlanBuilder::plan(const data::Order& order, std::vector<data::SourcePtr> sources,
                                std::uint64_t seed, bool replace) const {
  auto plan = std::make_shared<data::LoaderPlan>(
      data::LoaderPlan{order, std::move(sources), own_steps, segments, slots, row_bytes, 1, seed,
                       replace, placed, only_placed});
  plan->together = data::rows_together(*plan, heavy);
  return plan;
}

int PlanBuilder::call_threads() const {
  int threads = 0;
  for (const data::Segment& segment : segments) {
    if (segment.call) threads += segment.concurrency;
  }
  return threads;
}

nb::dict columns_of(data::Batch& batch) {
  nb::dict all;
  for (data::Column& column : batch.columns) {
    all[text_of(column.name)] = to_python(column);
  }
  batch.columns.clear();
  return all;
}

DataRun::DataRun(const PlanBuilder& builder, data::PlanPtr plan, const LoaderMemory& memory,
                 const RunSettings& settings, nb::object on_batch, nb::object stream,
                 nb::object report)
    : kept_(builder.functions) {
  const bool batch_calls = !on_batch.is_none();
  const int threads = builder.call_threads() + (batch_calls ? 1 : 0);
  const bool streamed = !stream.is_none();
  auto callers = std::make_shared<CallerLane>(threads + (plan->replace && threads > 0 ? 1 : 0),
                                              streamed ? 1 : 0);

  data::RunOptions options;
  options.share = settings.share;
  options.epoch = settings.epoch;
  options.start = settings.start;
  options.prefetch = settings.prefetch;
  options.budget = memory.budget;
  options.encoded = memory.encoded;
  options.memory_wait = memory_wait_;
  options.traffic = traffic_;
  options.collator = memory.collator;
  options.calls = callers;
  if (streamed) {
    kept_.push_back(keep(std::move(stream)));
    options.stream = read_stream(kept_.back(), settings);
  }
  if (batch_calls) {
    kept_.push_back(keep(std::move(on_batch)));
    options.on_batch = [function = kept_.back(),
                        skip = settings.skip_failed](data::Batch& batch) -> Status {
      const auto raised = [](const data::RowError& one) { return !one.replaced; };
      if (!skip && std::any_of(batch.errors.begin(), batch.errors.end(), raised)) {
        return {};  // the consumer raises instead
      }
      const Held held;
      try {
        const nb::object result = called(function, nb::make_tuple(columns_of(batch)));
        batch.result = std::make_shared<PyValue>(PyValue::borrow(result.ptr()));
        return {};
      } catch (nb::python_error& error) {
        error.restore();
        return error_of_exception(pending_exception(), nullptr);
      }
    };
  }
  must(data::check_batch(*plan, options));
  BuildOptions build;
  build.pool = settings.threads == 0
                   ? shared_workers()
                   : std::make_shared<WorkerPool>(static_cast<unsigned>(settings.threads));
  options.threads = static_cast<int>(build.pool->threads());
  PipelineBuilder stages;
  data::add_stages(stages, std::move(plan), options);
  build.on_failure = OnFailure::deliver;
  engine_ = std::make_unique<PyEngine>(must(stages.build(std::move(build))), std::move(callers),
                                       std::vector<std::shared_ptr<TaskLane>>(),
                                       std::make_shared<FailureLog>(std::move(report)), kept_);
  engine_->start();
}

DataRun::~DataRun() = default;

data::BatchPtr DataRun::next() {
  PyEngine::Taken got = engine_->take(-1);
  if (got.kind == PyEngine::Got::item) {
    data::BatchPtr* batch = got.item.get<data::BatchPtr>();
    return std::move(*batch);
  }
  if (got.kind == PyEngine::Got::failed) {
    for (const engine::FatalFailure& failure : engine_->fatal_failures()) raise(failure.error);
    throw std::runtime_error("the loader failed");
  }
  return nullptr;
}

std::optional<std::string> DataRun::stop(double timeout) {
  memory_wait_->end(engine::now_ns());
  return engine_->stop(timeout);
}

PipelineStats DataRun::stats() const {
  PipelineStats stats = engine_->stats();
  data::add_traffic(stats, *traffic_);
  return stats;
}

double DataRun::memory_wait() const {
  return static_cast<double>(memory_wait_->nanoseconds(engine::now_ns())) * 1e-9;
}

void DataRun::forget() {
  stop(0.1);
  kept_.clear();
}

}  // namespace penstock::bindings
