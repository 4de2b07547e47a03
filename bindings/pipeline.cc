// The engine in Python, for the package penstock.pipeline: a builder that takes Python functions,
// the running engine, the iterator over its items. Conversion only: how Python is called is in
// caller_lane.cc and python_steps.cc, how items come out in py_engine.cc.
#include "penstock/pipeline.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "collectable.h"
#include "errors.h"
#include "native_op.h"
#include "py_engine.h"
#include "python_steps.h"
#include "stats_list.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {

namespace {

// A failure limit as Python gives it: (count, 0) or a rate (numerator, denominator).
using Limit = std::optional<std::pair<std::int64_t, std::int64_t>>;

// A rate is only judged once this many tasks have been seen.
constexpr std::uint64_t kProbation = 100;

FailureLimit make_limit(const Limit& limit, bool whole_pipeline) {
  if (!limit) return {};
  const auto numerator = limit->first, denominator = limit->second;
  return [=](const FailureCounts& counts) {
    const auto failed =
        static_cast<std::int64_t>(whole_pipeline ? counts.all_failed : counts.failed);
    const std::uint64_t processed = whole_pipeline ? counts.all_processed : counts.processed;
    if (denominator == 0) return numerator >= 0 && failed > numerator;
    return processed >= kProbation && static_cast<__int128>(failed) * denominator >
                                          static_cast<__int128>(processed) * numerator;
  };
}

class EngineBuilder {
 public:
  EngineBuilder(int threads, int sources)
      : callers_(std::make_shared<CallerLane>(threads, sources)) {}

  void source(std::string name, nb::object iterable, bool continuous) {
    builder_.add_source(std::move(name), iterate(hold(std::move(iterable)), continuous),
                        {.lane = callers_});
  }
  void call(std::string name, nb::object op, int concurrency, bool ordered, const Limit& limit,
            bool fatal) {
    builder_.pipe(std::move(name), bindings::call(hold(std::move(op)), fatal),
                  options(concurrency, ordered, limit, callers_));
  }
  void generate(std::string name, nb::object op, int concurrency, bool ordered,
                const Limit& limit) {
    builder_.stream(std::move(name), bindings::generate(hold(std::move(op))),
                    options(concurrency, ordered, limit, callers_));
  }
  void native(std::string name, const NativeOp& op, int concurrency, bool ordered,
              const Limit& limit) {
    native_concurrency_ = std::max(native_concurrency_, concurrency);
    builder_.pipe(std::move(name), op.step, options(concurrency, ordered, limit, {}));
  }
  void collect(std::string name, Py_ssize_t n, bool drop_last) {
    Aggregation made = bindings::collect(n, drop_last);
    builder_.aggregate(std::move(name), made.step, made.flush, {.lane = callers_});
  }
  void aggregate(std::string name, nb::object aggregator, bool drop_last) {
    Aggregation made = aggregate_with(hold(std::move(aggregator)), drop_last);
    builder_.aggregate(std::move(name), made.step, made.flush, {.lane = callers_});
  }
  void disaggregate(std::string name) {
    builder_.stream(std::move(name), take_apart(), {.lane = callers_});
  }
  int route(std::string name, nb::object router, int paths) {
    builder_.route(std::move(name), choose_path(hold(std::move(router)), paths), paths,
                   {.lane = callers_});
    return builder_.last();
  }

  // A stage whose tasks are claimed on an event loop. With `sees_ends` the end of an epoch, and of
  // all, is a task, too.
  std::shared_ptr<TaskLane> loop(std::string name, const std::string& kind, int concurrency,
                                 bool ordered, const Limit& limit, bool sees_ends, int paths) {
    auto lane = std::make_shared<TaskLane>();
    loops_.push_back(lane);
    const StepFunction elsewhere = [](Context&) { return Step::done; };
    StageOptions wanted = options(concurrency, ordered, limit, lane);
    if (sees_ends) wanted.flush = elsewhere;
    if (kind == "source") {
      builder_.add_source(std::move(name), elsewhere, std::move(wanted));
    } else if (kind == "many") {
      builder_.stream(std::move(name), elsewhere, std::move(wanted));
    } else if (kind == "aggregate") {
      builder_.aggregate(std::move(name), elsewhere, elsewhere, std::move(wanted));
    } else if (kind == "route") {
      builder_.route(std::move(name), elsewhere, paths, std::move(wanted));
    } else {
      builder_.pipe(std::move(name), elsewhere, std::move(wanted));
    }
    return lane;
  }

  std::shared_ptr<CallerLane> callers() const { return callers_; }

  int last() const { return builder_.last(); }
  void from(const std::vector<std::pair<int, int>>& outputs) {
    std::vector<Port> ports;
    for (const auto& [stage, port] : outputs) ports.emplace_back(stage, port);
    builder_.from(std::move(ports));
  }
  void sink(int buffer_size) { builder_.add_sink(buffer_size); }

  PyEngine* build(const Limit& limit, nb::object report) {
    auto log = std::make_shared<FailureLog>(std::move(report));
    BuildOptions wanted;
    wanted.pool = native_concurrency_ == 0
                      ? WorkerPool::none()
                      : std::make_shared<WorkerPool>(static_cast<unsigned>(native_concurrency_));
    wanted.too_many_failures = make_limit(limit, true);
    wanted.report_failure = [log](const FailureReport& one) { log->add(one); };
    wanted.kept_failures = 0;  // exceptions hold on to frames, and frames to data
    return new PyEngine(must(builder_.build(std::move(wanted))), callers_, loops_, std::move(log),
                        std::exchange(kept_, {}));
  }

  // For the garbage collector: what the stages hold on to.
  const std::vector<Kept>& kept() const { return kept_; }
  void forget() { kept_.clear(), builder_ = PipelineBuilder(); }

 private:
  Kept hold(nb::object object) {
    kept_.push_back(keep(std::move(object)));
    return kept_.back();
  }
  static StageOptions options(int concurrency, bool ordered, const Limit& limit,
                              std::shared_ptr<Lane> lane) {
    return {.concurrency = concurrency,
            .order = ordered ? Order::input : Order::completion,
            .lane = std::move(lane),
            .too_many_failures = make_limit(limit, false)};
  }

  PipelineBuilder builder_;
  std::shared_ptr<CallerLane> callers_;
  std::vector<std::shared_ptr<TaskLane>> loops_;
  int native_concurrency_ = 0;
  std::vector<Kept> kept_;
};

nb::tuple take(PyEngine& engine, double timeout) {
  PyEngine::Taken got = engine.take(timeout);
  if (got.kind != PyEngine::Got::item)
    return nb::make_tuple(static_cast<int>(got.kind), nb::none());
  PyObject* object = to_python(got.item);
  if (object == nullptr) throw nb::python_error();
  return nb::make_tuple(0, nb::steal(object));
}

// Items one after the other. When something else than an item comes, `ended(kind)` raises what
// there is to raise; if it returns, the iteration is over.
struct ItemIterator {
  PyEngine* engine;
  nb::object owner;  // keeps the engine alive
  double timeout;
  nb::object ended;
  bool over = false;
};

PyObject* next_item(PyObject* self) {
  ItemIterator& items = *nb::inst_ptr<ItemIterator>(self);
  if (items.over) return nullptr;
  try {
    PyEngine::Taken got = items.engine->take(items.timeout);
    if (got.kind == PyEngine::Got::item) return to_python(got.item);
    items.ended(static_cast<int>(got.kind));
    items.over = true;
  } catch (nb::python_error& error) {
    error.restore();
  }
  return nullptr;
}

int traverse_iterator(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const ItemIterator& items = *nb::inst_ptr<ItemIterator>(self);
  Py_VISIT(items.owner.ptr());
  Py_VISIT(items.ended.ptr());
  return 0;
}

int clear_iterator(PyObject* self) {
  ItemIterator& items = *nb::inst_ptr<ItemIterator>(self);
  items.over = true;
  items.owner.reset();
  items.ended.reset();
  return 0;
}

PyType_Slot iterator_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_iterator)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_iterator)},
    {Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
    {Py_tp_iternext, reinterpret_cast<void*>(next_item)},
    {0, nullptr},
};

// (place of the stage, exception, input, too many, failed, processed, all failed, all processed)
// each.
nb::list fatal_failures(const PyEngine& engine) {
  nb::list all;
  for (const engine::FatalFailure& failure : engine.fatal_failures()) {
    all.append(nb::make_tuple(engine.place_of(failure.stage), exception_of(failure.error),
                              input_of(failure.error), failure.too_many, failure.counts.failed,
                              failure.counts.processed, failure.counts.all_failed,
                              failure.counts.all_processed));
  }
  return all;
}

}  // namespace

void bind_pipeline(nb::module_& m) {
  nb::class_<NativeOp>(m, "NativeOp", "A function that pipelines run without the GIL.")
      .def_ro("name", &NativeOp::name)
      .def_ro("takes_tensors", &NativeOp::takes_tensors)
      .def_ro("random", &NativeOp::random)
      .def_prop_ro("on_rows", [](const NativeOp& op) { return bool(op.on_array); })
      .def(
          "__call__",
          [](const NativeOp& op, nb::handle item, std::optional<std::uint64_t> position,
             nb::object out) { return op.alone(item, position, std::move(out)); },
          "item"_a, nb::kw_only(), "position"_a = nb::none(), "out"_a = nb::none(),
          nb::sig("def __call__(self, item: typing.Any, *, position: int | None = None, out: "
                  "typing.Any = None) -> typing.Any"),
          "The same for one item, here and now, without the GIL.");

  nb::class_<TaskLane>(m, "TaskLane", "Where an event loop claims and completes tasks.")
      .def("fileno", &TaskLane::fileno)
      .def("set_idle", &TaskLane::set_idle, "idle"_a)
      .def("acknowledge", &TaskLane::acknowledge)
      .def("flush", &TaskLane::flush)
      .def("when_due", &TaskLane::when_due, "arrange"_a.none(),
           nb::sig(
               "def when_due(self, arrange: collections.abc.Callable[[], object] | None) -> None"))
      .def("fail", &TaskLane::fail, "exception"_a,
           nb::sig("def fail(self, exception: BaseException) -> None"));

  nb::class_<CallerLane>(m, "CallerLane", "The threads of a pipeline that call Python.")
      .def("submit", &CallerLane::submit, "call"_a, "stage"_a, "item"_a.none());

  nb::class_<LoopSlot>(m, "LoopSlot", "A coroutine's place on a TaskLane: one task at a time.")
      .def(nb::init<std::shared_ptr<TaskLane>, nb::object, nb::object, nb::object>(), "lane"_a,
           "nothing"_a, "epoch_end"_a, "end"_a)
      .def("claim", &LoopSlot::claim, nb::sig("def claim(self) -> typing.Any"))
      .def_prop_ro("resumed", &LoopSlot::resumed)
      .def("finish", &LoopSlot::finish, "result"_a.none(),
           nb::sig("def finish(self, result: object) -> typing.Any"))
      .def("finish_on", &LoopSlot::finish_on, "result"_a.none(), "path"_a,
           nb::sig("def finish_on(self, result: object, path: int) -> typing.Any"))
      .def("pass_on", &LoopSlot::pass_on, "result"_a.none(),
           nb::sig("def pass_on(self, result: object) -> typing.Any"))
      .def("fail", &LoopSlot::fail, "exception"_a, "input"_a.none(), "fatal"_a, "silent"_a = false,
           nb::sig("def fail(self, exception: BaseException, input: object, fatal: bool, silent: "
                   "bool = False) -> typing.Any"))
      .def("again", &LoopSlot::again, "output"_a.none(), "kept"_a.none(),
           nb::sig("def again(self, output: object, kept: object) -> typing.Any"))
      .def("end_epoch", &LoopSlot::end_epoch, nb::sig("def end_epoch(self) -> typing.Any"))
      .def("end_source", &LoopSlot::end_source)
      .def("abandon", &LoopSlot::abandon);

  nb::class_<ItemIterator>(m, "ItemIterator", nb::type_slots(iterator_slots),
                           "Iterates over the items of a pipeline.");

  nb::class_<PyEngine>(m, "Engine", nb::is_weak_referenceable(),
                       nb::type_slots(collectable<PyEngine>), "A pipeline of native stages.")
      .def("start", &PyEngine::start)
      .def("request_stop", &PyEngine::request_stop)
      .def("stop", &PyEngine::stop, "timeout"_a)
      .def("take", &take, "timeout"_a,
           nb::sig("def take(self, timeout: float) -> tuple[int, typing.Any]"))
      .def(
          "items",
          [](nb::object self, double timeout, nb::object ended) {
            return ItemIterator{nb::cast<PyEngine*>(self), self, timeout, std::move(ended)};
          },
          "timeout"_a, "ended"_a)
      .def(
          "stats", [](const PyEngine& engine) { return stats_list(engine, engine.stats()); },
          nb::sig("def stats(self) -> list[dict[str, typing.Any]]"))
      .def("fatal_failures", &fatal_failures,
           nb::sig("def fatal_failures(self) -> list[tuple[typing.Any, ...]]"));

  nb::class_<EngineBuilder>(m, "EngineBuilder", nb::type_slots(collectable<EngineBuilder>),
                            "Collects the stages of a pipeline.")
      .def(nb::init<int, int>(), "threads"_a, "sources"_a)
      .def("source", &EngineBuilder::source, "name"_a, "iterable"_a, "continuous"_a)
      .def("call", &EngineBuilder::call, "name"_a, "op"_a, "concurrency"_a, "ordered"_a,
           "limit"_a.none(), "fatal"_a = false)
      .def("generate", &EngineBuilder::generate, "name"_a, "op"_a, "concurrency"_a, "ordered"_a,
           "limit"_a.none())
      .def("native", &EngineBuilder::native, "name"_a, "op"_a, "concurrency"_a, "ordered"_a,
           "limit"_a.none())
      .def("collect", &EngineBuilder::collect, "name"_a, "n"_a, "drop_last"_a)
      .def("aggregate", &EngineBuilder::aggregate, "name"_a, "aggregator"_a, "drop_last"_a)
      .def("disaggregate", &EngineBuilder::disaggregate, "name"_a)
      .def("route", &EngineBuilder::route, "name"_a, "router"_a, "paths"_a)
      .def("loop", &EngineBuilder::loop, "name"_a, "kind"_a, "concurrency"_a, "ordered"_a,
           "limit"_a.none(), "sees_ends"_a = false, "paths"_a = 1)
      .def("callers", &EngineBuilder::callers)
      .def("last", &EngineBuilder::last)
      .def("from_outputs", &EngineBuilder::from, "outputs"_a)
      .def("sink", &EngineBuilder::sink, "buffer_size"_a)
      .def("build", &EngineBuilder::build, "limit"_a.none(), "report"_a,
           nb::rv_policy::take_ownership);
}

}  // namespace penstock::bindings
