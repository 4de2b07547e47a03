// Arrays in chunks (Zarr, HDF5) in Python. Conversion only.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.h"
#include "errors.h"
#include "formats/chunked/hdf5/open.h"
#include "formats/chunked/zarr/open.h"
#include "formats/npy/remote.h"
#include "leaf.h"
#include "released.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

using formats::chunked::Array;
using formats::chunked::ArrayRecords;
using formats::chunked::RowField;
using formats::chunked::RowOptions;
using formats::chunked::Varying;
using formats::hdf5::Listed;

Result<std::vector<Array>> arrays_in(const std::string& name, const std::string& format,
                                     const std::vector<std::string>& fields) {
  if (format == "hdf5") return formats::hdf5::open_arrays(name, fields);
  if (format == "npy") {
    Result<Array> array = formats::npy::open_remote(name);
    if (!array) return std::move(array).error();
    return std::vector<Array>{*std::move(array)};
  }
  return formats::zarr::open_arrays(name, fields);
}

Leaf open_arrays(const std::string& name, const std::string& format,
                 const std::vector<std::string>& fields, std::uint64_t window, std::uint64_t stride,
                 std::uint64_t cache) {
  std::optional<Result<std::shared_ptr<const ArrayRecords>>> records;
  {
    const Released released;
    Result<std::vector<Array>> arrays = arrays_in(name, format, fields);
    if (arrays) {
      records.emplace(
          formats::chunked::open_rows(*std::move(arrays), {cache, window, stride}, name));
    } else {
      records.emplace(std::move(arrays).error());
    }
  }
  std::shared_ptr<const ArrayRecords> rows = must(*std::move(records));
  return {data::source_of(rows), rows};
}

// (name, dtype of a Tensor or None, dtype as NumPy describes it, shape) of each field.
using FieldWords =
    std::tuple<std::string, std::optional<std::string>, std::string, std::vector<std::int64_t>>;

std::vector<FieldWords> row_fields(const Leaf& leaf) {
  std::vector<FieldWords> all;
  if (leaf.arrays == nullptr) return all;
  for (const RowField& field : leaf.arrays->row_fields()) {
    std::optional<std::string> dtype;
    if (field.element.dtype) dtype = std::string(name_of(*field.element.dtype));
    all.emplace_back(field.name, dtype, field.element.descr, field.shape);
  }
  return all;
}

// (name, codecs, what there is to say of how it is read) of each array.
std::vector<std::tuple<std::string, std::string, std::string>> notes(const Leaf& leaf) {
  std::vector<std::tuple<std::string, std::string, std::string>> all;
  if (leaf.arrays == nullptr) return all;
  for (const Array& array : leaf.arrays->arrays()) {
    all.emplace_back(array.name, array.chain.to_string(), array.note);
  }
  return all;
}

Result<std::vector<Listed>> listed_in(const std::string& name, const std::string& format) {
  if (format == "hdf5") return formats::hdf5::list_arrays(name);
  Result<std::vector<Array>> arrays = arrays_in(name, format, {});
  if (!arrays) return std::move(arrays).error();
  std::vector<Listed> all;
  for (Array& array : *arrays) all.push_back({std::move(array), ""});
  return all;
}

// (name, dtype, shape, chunk shape, codecs, is it a list of these, why it cannot be read) of each.
nb::list array_info(const std::string& name, const std::string& format) {
  std::optional<Result<std::vector<Listed>>> arrays;
  {
    const Released released;
    arrays.emplace(listed_in(name, format));
  }
  nb::list all;
  for (const Listed& one : must(*std::move(arrays))) {
    const Array& array = one.array;
    all.append(nb::make_tuple(array.name, array.element.descr, array.shape, array.chunk,
                              array.chain.to_string(), array.varying == Varying::numbers,
                              one.unreadable));
  }
  return all;
}

}  // namespace

void bind_array_leaf(nb::module_& m, nb::class_<Leaf>& leaf) {
  leaf.def_static("open_arrays", &open_arrays, "name"_a, "format"_a, "fields"_a, "window"_a,
                  "stride"_a, "cache"_a,
                  "Rows of arrays in chunks; `cache` bytes of what was unpacked are kept.")
      .def_prop_ro("row_fields", &row_fields,
                   "(name, dtype or None, NumPy's description of it, shape) of each array.")
      .def_prop_ro("notes", &notes, "(name, codecs, what there is to say) of each array.")
      .def_prop_ro(
          "block", [](const Leaf& one) { return one.source->block(); },
          "How many records are best read together; 0: it does not matter.")
      .def_prop_ro(
          "chunks_loaded",
          [](const Leaf& one) {
            if (one.table != nullptr) return one.table->groups_loaded();
            return one.arrays == nullptr ? std::uint64_t{0} : one.arrays->chunks_loaded();
          },
          "Chunks, or groups of rows, that were unpacked so far.")
      .def_prop_ro(
          "chunk_bytes",
          [](const Leaf& one) {
            if (one.table != nullptr) return one.table->cached_bytes();
            return one.arrays == nullptr ? std::uint64_t{0} : one.arrays->cached_bytes();
          },
          "What the cache of unpacked chunks holds.");
  m.def(
      "array_info", &array_info, "name"_a, "format"_a,
      nb::sig("def array_info(name: str, format: str) -> list[tuple[str, str, list[int], "
              "list[int], str, bool, str]]"),
      "(name, dtype, shape, chunk shape, codecs, is a row a list of these, why it cannot be read) "
      "of each array.");
  m.def(
      "array_attributes",
      [](const std::string& name, const std::string& format, const std::string& path) {
        std::optional<Result<std::string>> found;
        {
          const Released released;
          found.emplace(format == "hdf5" ? formats::hdf5::attributes(name, path)
                                         : formats::zarr::attributes(name, path));
        }
        return must(*std::move(found));
      },
      "name"_a, "format"_a, "path"_a, "The attributes of an array or group, as JSON.");
}

}  // namespace penstock::bindings
