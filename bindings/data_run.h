// A running epoch of a loader as Python sees it. Members are called with the GIL held.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "data/loader.h"
#include "py_engine.h"
#include "python_steps.h"

namespace penstock::bindings {

// The steps of a plan, put together by Python. Becomes a LoaderPlan with an order and sources.
struct PlanBuilder {
  std::vector<data::Segment> segments{1};
  std::vector<data::SlotArray> slots;
  std::size_t row_bytes = 0;
  std::vector<data::PlacedField> placed;
  bool only_placed = false;
  bool heavy = false;           // does a step take long, as decoding an image does?
  std::vector<Kept> functions;  // of the user, for the garbage collector

  std::vector<std::vector<data::StepPtr>> own_steps;  // by leaf
  std::optional<std::size_t> leaf;  // whose steps are being added; none: those of all rows

  void add(data::StepPtr step);
  // function(sample), or function(sample, epoch, position); with `fetch` function(sample, places)
  // where places is a list of (leaf, record).
  enum class Arguments { sample, row, places };
  void call(nanobind::object function, std::string name, int concurrency, Arguments arguments);

  data::PlanPtr plan(const data::Order& order, std::vector<data::SourcePtr> sources,
                     std::uint64_t seed, bool replace) const;
  int call_threads() const;

  const std::vector<Kept>& kept() const { return functions; }
  void forget() { segments.assign(1, {}), functions.clear(); }
};

// What outlives a run: memory and the schema.
struct LoaderMemory {
  std::shared_ptr<BufferPool> budget, encoded;
  std::shared_ptr<data::Collator> collator;
};

struct RunSettings {
  data::Share share;
  std::uint64_t epoch = 0, start = 0;
  int prefetch = 2;
  int threads = 0;           // 0: the process's own pool
  bool skip_failed = false;  // do failed rows leave holes? else a batch with one is not worked on
};

class DataRun {
 public:
  // `on_batch` (columns as a dict) -> anything; None: there is nothing to do on batches. `stream`:
  // an iterator over (first position, samples, valid, state), or None.
  DataRun(const PlanBuilder& builder, data::PlanPtr plan, const LoaderMemory& memory,
          const RunSettings& settings, nanobind::object on_batch, nanobind::object stream,
          nanobind::object report);
  ~DataRun();

  // The next batch, or null at the end. Raises what is fatal.
  data::BatchPtr next();
  std::optional<std::string> stop(double timeout);
  const PyEngine& engine() const { return *engine_; }
  PipelineStats stats() const;
  double memory_wait() const;  // seconds in which no batch could be begun for want of memory

  const std::vector<Kept>& kept() const { return kept_; }
  void forget();

 private:
  std::vector<Kept> kept_;
  std::shared_ptr<data::MemoryWait> memory_wait_ = std::make_shared<data::MemoryWait>();
  std::shared_ptr<data::Traffic> traffic_ = std::make_shared<data::Traffic>();
  std::unique_ptr<PyEngine> engine_;
};

nanobind::dict columns_of(data::Batch& batch);

}  // namespace penstock::bindings
