// Tables (Parquet, Arrow) in Python: pyarrow reads groups of rows, and hands their columns over by
// Arrow's C data interface. Conversion only; what is asked of pyarrow is python/penstock/data/.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.h"
#include "borrowed.h"
#include "errors.h"
#include "leaf.h"
#include "python_value.h"
#include "released.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

using formats::table::ColumnType;
using formats::table::Group;
using formats::table::Imported;
using formats::table::ImportedPtr;
using formats::table::Kind;

// What an exception says of a group of rows. The system's refusals have a number, damage has none;
// a TypeError is of values that do not fit what the user asked for.
Error error_of_reading(const nb::python_error& error) {
  const nb::handle exception = error.value();
  std::string words = nb::cast<std::string>(nb::str(exception));
  if (words.empty()) words = nb::cast<std::string>(nb::str(error.type()));
  const bool system = PyErr_GivenExceptionMatches(exception.ptr(), PyExc_OSError) != 0 &&
                      !nb::getattr(exception, "errno", nb::none()).is_none();
  const bool slip = PyErr_GivenExceptionMatches(exception.ptr(), PyExc_TypeError) != 0;
  const Code code = system ? Code::io : slip ? Code::invalid_argument : Code::corrupt;
  return Error(code, std::move(words));
}

// load(group) gives two capsules, of a schema and of an array. Called on native workers: once for
// each group of rows, and pyarrow lets the GIL go while it works.
Result<ImportedPtr> load_group(const PyValue& load, std::size_t group) {
  if (python_is_ending()) return Error(Code::closed, "the program is ending");
  const Held held;
  try {
    const nb::object number = nb::cast(group);
    PyObject* loaded = or_wait([&] { return PyObject_CallOneArg(load.get(), number.ptr()); });
    if (loaded == nullptr) throw nb::python_error();
    const nb::tuple capsules = nb::cast<nb::tuple>(nb::steal(loaded));
    auto* schema =
        static_cast<ArrowSchema*>(PyCapsule_GetPointer(capsules[0].ptr(), "arrow_schema"));
    if (schema == nullptr) throw nb::python_error();
    auto* array = static_cast<ArrowArray*>(PyCapsule_GetPointer(capsules[1].ptr(), "arrow_array"));
    if (array == nullptr) throw nb::python_error();
    if (schema->release == nullptr || array->release == nullptr) {
      return Error(Code::internal, "its columns were taken before");
    }
    return ImportedPtr(std::make_shared<Imported>(*schema, *array));
  } catch (const nb::python_error& error) {
    return error_of_reading(error);
  } catch (const std::exception& error) {
    return Error(Code::failed, error.what());
  }
}

using ColumnWords = std::tuple<std::string, std::string, std::string, std::vector<std::int64_t>>;
using GroupWords = std::tuple<std::size_t, std::uint64_t, std::uint64_t, nb::bytes>;

Leaf open_table(nb::object load, std::vector<std::string> files,
                const std::vector<ColumnWords>& columns, const std::vector<GroupWords>& groups,
                std::uint64_t cache, std::uint64_t mean_bytes, std::string chosen) {
  static const std::map<std::string_view, Kind> kinds = {{"numbers", Kind::numbers},
                                                         {"lists", Kind::lists},
                                                         {"text", Kind::text},
                                                         {"bytes", Kind::bytes}};
  formats::table::Table table;
  table.files = std::move(files);
  for (const auto& [name, kind, dtype, shape] : columns) {
    ColumnType type{name, named(kinds, kind, "kind"), DType::uint8, shape};
    if (!dtype.empty()) type.dtype = must(dtype_named(dtype));
    table.columns.push_back(std::move(type));
  }
  for (const auto& [file, number, rows, bytes] : groups) {
    std::vector<std::uint32_t> kept(bytes.size() / sizeof(std::uint32_t));
    if (!kept.empty()) std::memcpy(kept.data(), bytes.data(), kept.size() * sizeof(kept[0]));
    table.groups.push_back({file, number, rows, std::move(kept)});
  }
  table.cache = cache;
  table.mean_bytes = mean_bytes;
  table.chosen = std::move(chosen);
  auto kept = std::make_shared<PyValue>(PyValue::borrow(load.ptr()));
  auto rows =
      must(formats::table::open_rows(std::move(table), [kept = std::move(kept)](std::size_t group) {
        return load_group(*kept, group);
      }));
  return {data::source_of(rows), {}, rows};
}

}  // namespace

void bind_table_leaf(nb::class_<Leaf>& leaf) {
  leaf.def_static(
      "open_table", &open_table, "load"_a, "files"_a, "columns"_a, "groups"_a, "cache"_a,
      "mean_bytes"_a, "chosen"_a,
      nb::sig("def open_table(load: collections.abc.Callable[[int], tuple[typing.Any, typing.Any]],"
              " files: list[str], columns: list[tuple[str, str, str, list[int]]], groups: "
              "list[tuple[int, int, int, bytes]], cache: int, mean_bytes: int, chosen: str) -> "
              "Leaf"),
      "Rows of tables. columns: (name, kind, dtype, shape); groups: (file, number in it, rows, "
      "rows that are samples as uint32, b'' for all); load(group) hands its columns over.");
}

}  // namespace penstock::bindings
