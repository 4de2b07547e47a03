// Datasets in Python: orders, sources, the steps of a plan, running loaders. Conversion only; what
// users see is python/penstock/data/.
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
#include "data/cache.h"
#include "data/loader.h"
#include "data_run.h"
#include "data_values.h"
#include "errors.h"
#include "finish.h"
#include "formats/open.h"
#include "formats/tokens/tokens.h"
#include "image_request.h"
#include "leaf.h"
#include "released.h"
#include "stats_list.h"
#include "storage/expand.h"
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

Leaf open_leaf(const std::vector<std::string>& names, const std::string& format,
               const std::vector<std::string>& fields, bool checksums, bool verify, bool mmap) {
  formats::OpenOptions options;
  options.format = must(formats::format_named(format));
  options.fields = fields;
  options.checksums = checksums;
  options.verify = verify;
  options.mmap = mmap;
  std::optional<Result<std::shared_ptr<const formats::Records>>> records;
  {
    const Released released;
    records.emplace(formats::open_records(names, options));
  }
  return {data::source_of(must(*std::move(records)))};
}

// `documents`: for each file the tokens at which documents begin; empty: none.
Leaf token_leaf(const std::vector<std::string>& names, const std::string& dtype,
                std::uint64_t window, std::uint64_t stride,
                std::vector<std::vector<std::uint64_t>> documents) {
  formats::tokens::Options options{must(dtype_named(dtype)), window, stride, std::move(documents)};
  const std::vector<std::string> paths = must(storage::expand(names));
  return {data::source_of(must(formats::tokens::open(paths, std::move(options))))};
}

Leaf array_leaf(const nb::dict& arrays, std::uint64_t window, std::uint64_t stride) {
  std::vector<std::pair<std::string, Tensor>> all;
  for (const auto& [name, array] : arrays) {
    std::optional<Tensor> tensor = to_tensor(array);
    if (!tensor) {
      raise(Error(Code::invalid_argument,
                  "from_arrays: '" + nb::cast<std::string>(name) + "' is not an array of numbers"));
    }
    all.emplace_back(nb::cast<std::string>(name), *std::move(tensor));
  }
  return {must(data::source_of_arrays(std::move(all), {window, stride}))};
}

std::uint64_t checked_position(const Order& order, std::uint64_t position) {
  if (order.length() && position >= *order.length()) {
    raise(Error(Code::out_of_range, "sample " + std::to_string(position) + " of a dataset of " +
                                        std::to_string(*order.length())));
  }
  return position;
}

std::vector<std::pair<std::uint32_t, std::uint64_t>> locate(const Order& order, std::uint64_t epoch,
                                                            std::uint64_t position) {
  std::vector<data::Place> places(order.width());
  order.locate(epoch, checked_position(order, position), places);
  std::vector<std::pair<std::uint32_t, std::uint64_t>> all;
  for (const data::Place& place : places) {
    if (place.leaf != data::Place::kNone) all.emplace_back(place.leaf, place.record);
  }
  return all;
}

Order subset(const Order& order, const nb::bytes& bits, std::uint64_t size) {
  std::vector<std::uint64_t> words((bits.size() + 7) / 8);
  std::memcpy(words.data(), bits.data(), bits.size());
  return must(order.subset(std::make_shared<data::Bitmap>(std::move(words), size)));
}

void bind_order(nb::module_& m) {
  nb::class_<Order>(m, "Order", "Which record is at which position: arithmetic, no list.")
      .def_static(
          "leaf",
          [](std::uint32_t number, std::uint64_t n) { return must(Order::leaf(number, n)); },
          "number"_a, "n"_a)
      .def(
          "shuffle", [](const Order& o, std::uint64_t seed) { return must(o.shuffle(seed)); },
          "seed"_a)
      .def(
          "shuffle_windows",
          [](const Order& o, std::uint64_t seed, std::uint64_t window, std::uint64_t block) {
            return must(o.shuffle_windows(seed, window, block));
          },
          "seed"_a, "window"_a, "block"_a = 0)
      .def(
          "take", [](const Order& o, std::uint64_t n) { return must(o.take(n)); }, "n"_a)
      .def(
          "skip", [](const Order& o, std::uint64_t n) { return must(o.skip(n)); }, "n"_a)
      .def(
          "repeat",
          [](const Order& o, std::optional<std::uint64_t> n) { return must(o.repeat(n)); },
          "n"_a.none())
      .def("subset", &subset, "bits"_a, "size"_a)
      .def(
          "sample",
          [](const Order& o, std::vector<double> weights, std::uint64_t n, std::uint64_t seed) {
            return must(o.sample(std::move(weights), n, seed));
          },
          "weights"_a, "n"_a, "seed"_a)
      .def_static(
          "concat", [](const std::vector<Order>& parts) { return must(Order::concat(parts)); },
          "parts"_a)
      .def_static(
          "zip", [](const std::vector<Order>& parts) { return must(Order::zip(parts)); }, "parts"_a)
      .def_static(
          "mix",
          [](const std::vector<Order>& parts, const std::vector<double>& weights,
             std::uint64_t seed,
             bool endless) { return must(Order::mix(parts, weights, seed, endless)); },
          "parts"_a, "weights"_a, "seed"_a, "endless"_a)
      .def_prop_ro("length", &Order::length, "None: endless.")
      .def_prop_ro("shuffled", &Order::shuffled, "Does another epoch give another order?")
      .def_prop_ro("digest", &Order::digest)
      .def("locate", &locate, "epoch"_a, "position"_a, "[(leaf, record), ...] of one position.");
}

void bind_leaf(nb::module_& m) {
  nb::class_<Leaf> leaf(m, "Leaf", "Records of one source.");
  leaf.def_static("open", &open_leaf, "names"_a, "format"_a, "fields"_a, "checksums"_a,
                  "verify"_a = true, "mmap"_a = false)
      .def_static("open_tokens", &token_leaf, "names"_a, "dtype"_a, "window"_a, "stride"_a,
                  "documents"_a)
      .def_static("of_arrays", &array_leaf, "arrays"_a, "window"_a = 0, "stride"_a = 1,
                  nb::sig("def of_arrays(arrays: dict[str, typing.Any], window: int = 0, stride: "
                          "int = 1) -> Leaf"))
      .def_static(
          "elsewhere",
          [](std::uint64_t n, std::vector<std::string> fields, std::string name) {
            return Leaf{data::source_elsewhere(n, std::move(fields), std::move(name))};
          },
          "n"_a, "fields"_a, "name"_a)
      .def(
          "cached",
          [](const Leaf& leaf, const PlanBuilder& plan, std::uint64_t limit) {
            return Leaf{
                std::make_shared<data::CachedSource>(leaf.source, plan.segments[0].steps, limit)};
          },
          "plan"_a, "limit"_a,
          "Keeps records, with the steps of the plan done, up to `limit` bytes.")
      .def_prop_ro(
          "cached_bytes",
          [](const Leaf& leaf) {
            const auto* cache = dynamic_cast<const data::CachedSource*>(leaf.source.get());
            return cache == nullptr ? std::uint64_t{0} : cache->used();
          },
          "What cached() keeps.")
      .def("__len__", [](const Leaf& leaf) { return leaf.source->size(); })
      .def_prop_ro("fields", [](const Leaf& leaf) { return leaf.source->fields(); })
      .def_prop_ro("digest", [](const Leaf& leaf) { return leaf.source->digest(); })
      .def_prop_ro("mean_bytes", [](const Leaf& leaf) { return leaf.source->mean_bytes(); })
      .def(
          "name", [](const Leaf& leaf, std::uint64_t i) { return leaf.source->name(i); },
          "record"_a);
  bind_array_leaf(m, leaf);
  bind_table_leaf(leaf);
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
    errors.append(nb::make_tuple(one.position, one.sample, exception_of(one.error),
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

}  // namespace

void bind_data(nb::module_& m) {
  bind_byte_view(m);
  bind_order(m);
  bind_leaf(m);
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
      .def("stats", &memory_stats, nb::sig("def stats(self) -> dict[str, int]"));

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
