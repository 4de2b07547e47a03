// Formats in Python: records by number. Conversion only; tars from front to back are in
// tar_iterator.cc.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "errors.h"
#include "formats/chunked/hdf5/module.h"
#include "formats/open.h"
#include "penstock/tensor.h"
#include "record_values.h"
#include "released.h"
#include "storage/expand.h"
#include "tar_iterator.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

using formats::Field;
using formats::FieldKind;
using formats::OpenOptions;
using formats::Record;

// Python holds records by this: a shared pointer to const has no class of its own.
struct OpenRecords {
  std::shared_ptr<const formats::Records> records;
  std::shared_ptr<BufferPool> pool = std::make_shared<BufferPool>();
};

nb::object view_of(const Record& record, const Field& field) {
  const auto offset = static_cast<std::size_t>(field.bytes.data() - record.memory.data());
  const Tensor tensor = must(Tensor::over(record.memory, DType::uint8,
                                          {static_cast<std::int64_t>(field.bytes.size())}, offset));
  return checked(PyMemoryView_FromObject(nb::cast(tensor).ptr()));
}

nb::dict as_dict(const Record& record) {
  nb::dict all;
  for (const Field& field : record.fields) {
    const nb::object name = text_of(field.name);
    switch (field.kind) {
      case FieldKind::bytes:
        all[name] = view_of(record, field);
        break;
      case FieldKind::text:
        all[name] = text_of(field.text());
        break;
      case FieldKind::integer:
        all[name] = field.integer;
        break;
      case FieldKind::nothing:
        all[name] = nb::none();
        break;
    }
  }
  record.memory.give_to_user();
  return all;
}

OpenRecords open_records(const std::vector<std::string>& names, std::string_view format,
                         const std::vector<std::string>& fields, bool checksums, bool refresh,
                         bool write_index, std::uint64_t max_member, int threads, bool verify,
                         bool mmap) {
  OpenOptions options;
  options.format = must(formats::format_named(format));
  options.fields = fields;
  options.checksums = checksums;
  options.refresh = refresh;
  options.write_index = write_index;
  options.max_member = max_member;
  options.threads = threads;
  options.verify = verify;
  options.mmap = mmap;
  return {opened(names, options)};
}

nb::dict read_one(const OpenRecords& opened, std::uint64_t index) {
  Record record;
  Status status;
  {
    const Released released;
    status = opened.records->read(index, *opened.pool, record);
  }
  must(status);
  return as_dict(record);
}

// The bytes of one field, as bytes.
nb::object read_bytes(const OpenRecords& opened, const std::vector<std::uint64_t>& indices,
                      const std::string& field) {
  // Before anything is read: it may collect garbage, and that may call anything, even this.
  nb::object all = checked(PyList_New(static_cast<Py_ssize_t>(indices.size())));
  std::vector<Status> outcomes(indices.size());
  // Used again by the next call: small records keep the memory of their lists of fields.
  thread_local std::vector<Record> kept;
  if (kept.size() < indices.size()) kept.resize(indices.size());
  const std::span<Record> records = std::span(kept).first(indices.size());
  struct Clear {
    std::span<Record> records;
    ~Clear() {
      for (Record& record : records) record.clear();
    }
  } const clear{records};
  {
    const Released released;
    opened.records->read_many(indices, *opened.pool, records, outcomes);
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    must(outcomes[i]);
    const Field* found = records[i].find(field);
    if (found == nullptr) raise(Error(Code::no_field, "there is no field " + field));
    PyList_SET_ITEM(all.ptr(), static_cast<Py_ssize_t>(i),
                    checked(PyBytes_FromStringAndSize(found->text().data(),
                                                      static_cast<Py_ssize_t>(found->bytes.size())))
                        .release()
                        .ptr());
  }
  return all;
}

nb::list read_many(const OpenRecords& opened, const std::vector<std::uint64_t>& indices) {
  std::vector<Record> records(indices.size());
  std::vector<Status> outcomes(indices.size());
  {
    const Released released;
    opened.records->read_many(indices, *opened.pool, records, outcomes);
  }
  nb::list all;
  for (std::size_t i = 0; i < records.size(); ++i) {
    must(outcomes[i]);
    all.append(as_dict(records[i]));
  }
  return all;
}

}  // namespace

void bind_formats(nb::module_& m) {
  nb::class_<OpenRecords>(m, "Records", "Records of files, by number.")
      .def("__len__", [](const OpenRecords& o) { return o.records->size(); })
      .def("read", &read_one, "index"_a, nb::sig("def read(self, index: int) -> dict[str, object]"),
           "A record: bytes as memoryviews that share memory, text as str, labels as int.")
      .def("read_many", &read_many, "indices"_a,
           nb::sig("def read_many(self, indices: list[int]) -> list[dict[str, object]]"),
           "Several records; neighbours in a file are read together.")
      .def("read_bytes", &read_bytes, "indices"_a, "field"_a,
           nb::sig("def read_bytes(self, indices: list[int], field: str) -> list[bytes]"),
           "One field of several records.")
      .def(
          "name", [](const OpenRecords& o, std::uint64_t i) { return o.records->name(i); },
          "index"_a, "The file and the key in it.")
      .def_prop_ro(
          "fields", [](const OpenRecords& o) { return o.records->fields(); },
          "The names of all fields.")
      .def_prop_ro(
          "mean_bytes", [](const OpenRecords& o) { return o.records->mean_bytes(); },
          "The mean size of a record.")
      .def_prop_ro(
          "digest", [](const OpenRecords& o) { return o.records->digest(); },
          "Of counts and names relative to the root.")
      .def(
          "findings", [](const OpenRecords& o) { return as_dict(o.records->findings()); },
          nb::sig("def findings(self) -> dict[str, int]"),
          "What was passed over, damaged or missing.");
  m.def("open_records", &open_records, "names"_a, "format"_a = "",
        "fields"_a = std::vector<std::string>(), "checksums"_a = false, "refresh"_a = false,
        "write_index"_a = true, "max_member"_a = OpenOptions().max_member, "threads"_a = 0,
        "verify"_a = true, "mmap"_a = false,
        nb::sig("def open_records(names: list[str], format: str = '', fields: list[str] = [], "
                "checksums: bool = False, refresh: bool = False, write_index: bool = True, "
                "max_member: int = 1073741824, threads: int = 0, verify: bool = True, "
                "mmap: bool = False) -> Records"),
        "Opens files, and indexes what needs it.");
  m.def(
      "expand",
      [](const std::vector<std::string>& names) {
        std::optional<Result<std::vector<std::string>>> all;
        {
          const Released released;
          all.emplace(storage::expand(names));
        }
        return must(*std::move(all));
      },
      "names"_a, "Names with their patterns expanded.");
  m.def(
      "format_of",
      [](const std::vector<std::string>& names) {
        std::optional<Result<formats::Format>> found;
        {
          const Released released;
          found.emplace(formats::detect_format(names));
        }
        return std::string(formats::name_of(must(*std::move(found))));
      },
      "names"_a, "The format that all of these have: \"tar\" and the like.");
  m.def(
      "why_no_hdf5",
      []() -> std::optional<std::string> {
        const auto loaded = formats::hdf5::load_module();
        if (loaded) return std::nullopt;
        return std::string(loaded.error().message());
      },
      "Why HDF5 files cannot be opened; None: they can.");
  bind_tar_iterator(m);
}

}  // namespace penstock::bindings
