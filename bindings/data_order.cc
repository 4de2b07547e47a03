#include "data_order.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <tuple>

#include "data/cache.h"
#include "data_run.h"
#include "data_values.h"
#include "errors.h"
#include "formats/open.h"
#include "formats/tokens/tokens.h"
#include "leaf.h"
#include "record_values.h"
#include "released.h"
#include "storage/expand.h"
#include "texts.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {

using data::Order;

std::uint64_t checked_position(const Order& order, std::uint64_t position) {
  if (order.length() && position >= *order.length()) {
    raise(Error(Code::out_of_range, "sample " + std::to_string(position) + " of a dataset of " +
                                        std::to_string(*order.length())));
  }
  return position;
}

namespace {

Leaf open_leaf(const std::vector<std::string>& names, const std::string& format,
               const std::vector<std::string>& fields, bool checksums, bool verify, bool mmap,
               std::uint64_t max_member) {
  formats::OpenOptions options;
  options.format = must(formats::format_named(format));
  options.fields = fields;
  options.checksums = checksums;
  options.verify = verify;
  options.mmap = mmap;
  options.max_member = max_member;
  return {data::source_of(opened(names, options))};
}

using PlaceableWords = std::tuple<std::size_t, std::string, std::vector<std::int64_t>>;

// `documents`: for each file the tokens at which documents begin; empty: none.
Leaf token_leaf(const std::vector<std::string>& names, const std::string& dtype,
                std::uint64_t window, std::uint64_t stride,
                std::vector<std::vector<std::uint64_t>> documents, std::int64_t pad) {
  formats::tokens::Options options{must(dtype_named(dtype)), window, stride, std::move(documents),
                                   pad};
  const std::vector<std::string> paths = must(storage::expand(names));
  std::optional<Result<std::shared_ptr<const formats::Records>>> opened;
  {
    const Released released;
    opened.emplace(formats::tokens::open(paths, std::move(options)));
  }
  return {data::source_of(must(*std::move(opened)))};
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

Leaf npy_leaf(const std::string& path, std::uint64_t window, std::uint64_t stride) {
  return {must(data::source_of_npy(path, {window, stride}))};
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

void bind_order_class(nb::module_& m) {
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

void bind_leaf_class(nb::module_& m) {
  nb::class_<Leaf> leaf(m, "Leaf", "Records of one source.");
  leaf.def_static("open", &open_leaf, "names"_a, "format"_a, "fields"_a, "checksums"_a, "verify"_a,
                  "mmap"_a, "max_member"_a)
      .def_static("open_tokens", &token_leaf, "names"_a, "dtype"_a, "window"_a, "stride"_a,
                  "documents"_a, "pad"_a)
      .def_static("open_npy", &npy_leaf, "path"_a, "window"_a = 0, "stride"_a = 1)
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
      .def_prop_ro(
          "fields",
          [](const Leaf& leaf) {
            nb::list names;
            for (const std::string& name : leaf.source->fields()) names.append(text_of(name));
            return names;
          },
          nb::sig("def fields(self) -> list[str]"))
      .def_prop_ro(
          "placeable",
          [](const Leaf& leaf) {
            std::vector<PlaceableWords> all;
            for (const formats::Placeable& one : leaf.source->placeable()) {
              all.emplace_back(one.field, std::string(name_of(one.dtype)), one.shape);
            }
            return all;
          },
          "(number of the field, dtype, shape) of those that may go straight into a batch.")
      .def_prop_ro("digest", [](const Leaf& leaf) { return leaf.source->digest(); })
      .def_prop_ro("mean_bytes", [](const Leaf& leaf) { return leaf.source->mean_bytes(); })
      .def(
          "name", [](const Leaf& leaf, std::uint64_t i) { return text_of(leaf.source->name(i)); },
          "record"_a, nb::sig("def name(self, record: int) -> str"));
  bind_array_leaf(m, leaf);
  bind_table_leaf(leaf);
}

}  // namespace

void bind_order(nb::module_& m) {
  bind_order_class(m);
  bind_leaf_class(m);
}

}  // namespace penstock::bindings
