// Datasets in Python: the steps of a plan, running loaders. Orders and sources are in
// data_order.cc. Conversion only; what users see is python/penstock/data/.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "borrowed.h"
#include "collectable.h"
#include "data/loader.h"
#include "data_order.h"
#include "data_run.h"
#include "data_values.h"
#include "errors.h"
#include "finish.h"
#include "image_request.h"
#include "leaf.h"
#include "released.h"
#include "stats_list.h"
#include "texts.h"
#include "tfrecord_specs.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

using data::Order;
using data::SourcePtr;

std::vector<SourcePtr> sources_of(const std::vector<Leaf*>& leaves) {
  std::vector<SourcePtr> all;
  for (const Leaf* leaf : leaves) all.push_back(leaf->source);
  return all;
}

// (name, mode, interpolation or None, finish or None) of each field.
using ImageFieldSpec =
    std::tuple<std::string, std::string, std::optional<std::string>, std::optional<Finish>>;

void add_image(PlanBuilder& plan, const std::vector<ImageFieldSpec>& fields,
               const ImageRequest& request, std::uint32_t ordinal, std::string box) {
  plan.heavy = true;
  data::ImageWork work;
  work.crop = request.crop;
  work.ordinal = ordinal;
  work.box = std::move(box);
  for (const auto& [name, mode, interpolation, finish] : fields) {
    data::ImageField field;
    field.name = name;
    field.options = request.options;
    field.options.mode = named(kModes, mode, "mode");
    if (interpolation) field.filter = named(kFilters, *interpolation, "interpolation");
    if (finish && request.crop.size) {
      field.finish = finish_of(*finish);
      field.finish.height = request.crop.size->height;
      field.finish.width = request.crop.size->width;
      const std::int64_t h = field.finish.height, w = field.finish.width, c = field.finish.channels;
      field.array = plan.slots.size();
      plan.slots.push_back({field.finish.type, field.finish.layout == ImageLayout::hwc
                                                   ? Dims{h, w, c}
                                                   : Dims{c, h, w}});
    }
    if (!field.array && request.crop.size) {
      const auto channels = static_cast<std::size_t>(channels_of(field.options.mode));
      plan.row_bytes +=
          static_cast<std::size_t>(request.crop.size->height * request.crop.size->width) * channels;
    }
    work.fields.push_back(std::move(field));
  }
  plan.add(must(data::image_step(std::move(work))));
}

nb::object sample(const PlanBuilder& builder, const Order& order, const std::vector<Leaf*>& leaves,
                  std::uint64_t seed, std::uint64_t epoch, std::uint64_t position) {
  checked_position(order, position);
  const data::PlanPtr plan = builder.plan(order, sources_of(leaves), seed, false);
  BufferPool pool;
  std::optional<Result<std::optional<data::Row>>> row;
  {
    const Released released;
    row.emplace(data::run_row(*plan, epoch, position, pool));
  }
  if (!row->ok()) {
    const nb::object error = exception_of(row->error());
    PyErr_SetObject(nb::handle(Py_TYPE(error.ptr())).ptr(), error.ptr());
    throw nb::python_error();
  }
  return **row ? nb::object(to_python(***row)) : nb::none();
}

LoaderMemory make_memory(std::size_t budget, const std::map<std::string, std::string>& collate,
                         bool mask, bool alone, const std::map<std::string, Finish>& images) {
  static const std::map<std::string_view, data::Gather> gathers = {{"pad", data::Gather::pad},
                                                                   {"ragged", data::Gather::ragged},
                                                                   {"list", data::Gather::list},
                                                                   {"stack", data::Gather::stack}};
  data::CollateOptions options;
  for (const auto& [name, how] : collate) options.fields[name] = named(gathers, how, "collate");
  options.mask = mask;
  options.alone = alone;
  for (const auto& [name, finish] : images) options.images[name] = finish_of(finish);
  return {std::make_shared<BufferPool>(budget), std::make_shared<BufferPool>(),
          std::make_shared<data::Collator>(std::move(options))};
}

DataRun* start_run(const PlanBuilder& plan, const Order& order, const std::vector<Leaf*>& leaves,
                   const LoaderMemory& memory, std::uint64_t seed, std::uint64_t rank,
                   std::uint64_t world, std::uint64_t batch, const std::string& ends,
                   std::uint64_t epoch, std::uint64_t start, int prefetch, int threads,
                   const std::string& on_error, nb::object on_batch, nb::object stream,
                   nb::object report) {
  static const std::map<std::string_view, data::Ends> kinds = {
      {"pad", data::Ends::pad}, {"even", data::Ends::even}, {"short", data::Ends::brief}};
  RunSettings settings;
  settings.share = {rank, world, batch, named(kinds, ends, "ends")};
  settings.epoch = epoch;
  settings.start = start;
  settings.prefetch = prefetch;
  settings.threads = threads;
  settings.skip_failed = on_error == "skip";
  return new DataRun(plan, plan.plan(order, sources_of(leaves), seed, on_error == "replace"),
                     memory, settings, std::move(on_batch), std::move(stream), std::move(report));
}

// None at the end, else (batch, rows left, number, [(position, sample, exception, is_io,
// is_filling, is_replaced), ...], exception of the batch or None, rows, state of the stream). The
// batch is a dict of columns, or what on_batch made of it.
nb::object next_batch(DataRun& run) {
  const data::BatchPtr batch = run.next();
  if (batch == nullptr) return nb::none();
  nb::list errors;
  for (const data::RowError& one : batch->errors) {
    errors.append(nb::make_tuple(one.position, text_of(one.sample), exception_of(one.error),
                                 one.error.code() == Code::io, one.filling, one.replaced));
  }
  const nb::object failure =
      batch->failure ? exception_of(*batch->failure) : nb::object(nb::none());
  nb::object value = nb::none();
  if (batch->result) {
    value = nb::borrow(static_cast<const PyValue*>(batch->result.get())->get());
  } else if (!batch->failure) {
    value = columns_of(*batch);
  }
  const nb::object state = batch->state
                               ? nb::borrow(static_cast<const PyValue*>(batch->state.get())->get())
                               : nb::object(nb::none());
  return nb::make_tuple(value, batch->kept, batch->number, errors, failure, batch->rows.valid,
                        state);
}

nb::dict memory_stats(const LoaderMemory& memory) {
  const PoolStats budget = memory.budget->stats(), encoded = memory.encoded->stats();
  nb::dict all;
  all["budget"] = budget.budget;
  all["in_use"] = budget.in_use + budget.reserved;
  all["peak"] = budget.peak;
  all["held_by_user"] = budget.held_by_user + encoded.held_by_user;
  all["over_budget"] = budget.over_budget;
  all["footprint"] = budget.footprint + encoded.footprint;
  return all;
}

// (bytes in use, how often more than the budget was granted): asked for with every batch.
std::pair<std::size_t, std::uint64_t> memory_use(const LoaderMemory& memory) {
  const PoolStats budget = memory.budget->stats();
  return {budget.in_use + budget.reserved, budget.over_budget};
}

}  // namespace

void bind_data(nb::module_& m) {
  bind_byte_view(m);
  bind_order(m);
  nb::class_<PlanBuilder>(m, "RowPlan", nb::type_slots(collectable<PlanBuilder>),
                          "The work on rows, step by step.")
      .def(nb::init<>())
      .def_rw("leaf", &PlanBuilder::leaf, "The leaf whose own steps are added next, or None.")
      .def(
          "select",
          [](PlanBuilder& plan, std::vector<std::string> names) {
            plan.add(data::select_step(std::move(names)));
          },
          "names"_a)
      .def(
          "rename",
          [](PlanBuilder& plan, std::vector<std::pair<std::string, std::string>> names) {
            plan.add(data::rename_step(std::move(names)));
          },
          "names"_a)
      .def(
          "decode",
          [](PlanBuilder& plan, std::string field, const std::string& kind) {
            plan.add(must(data::decode_step(std::move(field), kind)));
          },
          "field"_a, "kind"_a)
      .def(
          "example",
          [](PlanBuilder& plan, const Specs& specs) {
            plan.add(data::example_step(specs_of(specs)));
          },
          "specs"_a, "Parses the record in field \"data\" as a tf.train.Example.")
      .def(
          "tokens",
          [](PlanBuilder& plan, std::string field, const std::string& dtype, std::size_t window,
             std::int64_t pad, bool placed) {
            data::TokenWork work{std::move(field), must(dtype_named(dtype)), window, pad, {}};
            if (placed) {
              work.array = plan.slots.size();
              plan.slots.push_back({DType::int64, {static_cast<std::int64_t>(window)}});
            } else {
              plan.row_bytes += window * sizeof(std::int64_t);
            }
            plan.add(data::token_step(std::move(work)));
          },
          "field"_a, "dtype"_a, "window"_a, "pad"_a, "placed"_a,
          "The tokens of a window as int64, straight into the batch if placed.")
      .def(
          "array",
          [](PlanBuilder& plan, std::string field, const std::string& dtype,
             const std::vector<std::int64_t>& shape, bool placed) {
            data::ArrayWork work{std::move(field),
                                 must(dtype_named(dtype)),
                                 Dims(std::span<const std::int64_t>(shape)),
                                 {}};
            if (placed) {
              work.array = plan.slots.size();
              plan.slots.push_back({work.dtype, work.shape});
            } else {
              const bool any_length = !shape.empty() && shape[0] == -1;
              if (!any_length) plan.row_bytes += must(Tensor::bytes_for(work.dtype, work.shape));
            }
            plan.add(must(data::array_step(std::move(work))));
          },
          "field"_a, "dtype"_a, "shape"_a, "placed"_a,
          "The bytes of a row as an array, straight into the batch if placed.")
      .def(
          "place",
          [](PlanBuilder& plan, std::string field, std::size_t number, const std::string& dtype,
             const std::vector<std::int64_t>& shape, std::string column, std::size_t at) {
            plan.placed.push_back(
                {std::move(field), number, plan.slots.size(), std::move(column), at});
            plan.slots.push_back(
                {must(dtype_named(dtype)), Dims(std::span<const std::int64_t>(shape))});
          },
          "field"_a, "number"_a, "dtype"_a, "shape"_a, "column"_a, "at"_a,
          "Field `number` of the only leaf goes straight into the batch, as column `at`.")
      .def_rw("only_placed", &PlanBuilder::only_placed, "Are there no other fields?")
      .def("image", &add_image, "fields"_a, "request"_a, "ordinal"_a, "box"_a)
      .def(
          "call",
          [](PlanBuilder& plan, nb::object function, std::string name, int concurrency,
             bool with_row) {
            plan.call(std::move(function), std::move(name), concurrency,
                      with_row ? PlanBuilder::Arguments::row : PlanBuilder::Arguments::sample);
          },
          "function"_a, "name"_a, "concurrency"_a, "with_row"_a,
          "function(sample), or function(sample, epoch, position).")
      .def(
          "fetch",
          [](PlanBuilder& plan, nb::object function, int concurrency) {
            plan.call(std::move(function), "fetch", concurrency, PlanBuilder::Arguments::places);
          },
          "function"_a, "concurrency"_a, "function(sample, [(leaf, record), ...]).")
      .def("sample", &sample, "order"_a, "leaves"_a, "seed"_a, "epoch"_a, "position"_a,
           nb::sig("def sample(self, order: Order, leaves: Sequence[Leaf], seed: int, epoch: int, "
                   "position: int) -> dict[str, typing.Any] | None"));

  nb::class_<LoaderMemory>(m, "LoaderMemory", "What a loader keeps from epoch to epoch.")
      .def(nb::new_(&make_memory), "budget"_a, "collate"_a, "mask"_a, "alone"_a, "images"_a)
      .def("stats", &memory_stats, nb::sig("def stats(self) -> dict[str, int]"))
      .def("use", &memory_use);

  nb::class_<DataRun>(m, "DataRun", nb::is_weak_referenceable(),
                      nb::type_slots(collectable<DataRun>), "Batches of one epoch.")
      .def(nb::new_(&start_run), "plan"_a, "order"_a, "leaves"_a, "memory"_a, "seed"_a, "rank"_a,
           "world"_a, "batch"_a, "ends"_a, "epoch"_a, "start"_a, "prefetch"_a, "threads"_a,
           "on_error"_a, "on_batch"_a.none(), "stream"_a.none(), "report"_a)
      .def("next", &next_batch, nb::sig("def next(self) -> tuple[typing.Any, ...] | None"))
      .def("stop", &DataRun::stop, "timeout"_a)
      .def(
          "stats",
          [](const DataRun& run) {
            return stats_list(run.engine(), run.stats(), run.memory_wait());
          },
          nb::sig("def stats(self) -> list[dict[str, typing.Any]]"));

  m.def(
      "batches_of",
      [](std::uint64_t rank, std::uint64_t world, std::uint64_t batch, const std::string& ends,
         std::optional<std::uint64_t> length, std::uint64_t start) {
        const data::Ends kind = ends == "even"    ? data::Ends::even
                                : ends == "short" ? data::Ends::brief
                                                  : data::Ends::pad;
        return data::Rounds({rank, world, batch, kind}, length, start).batches();
      },
      "rank"_a, "world"_a, "batch"_a, "ends"_a, "length"_a.none(), "start"_a,
      "How many batches a rank has; None: endless.");
}

}  // namespace penstock::bindings
