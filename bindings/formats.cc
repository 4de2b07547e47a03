// Formats in Python: records by number, and tars from front to back. Conversion only.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "errors.h"
#include "formats/open.h"
#include "formats/tar/tar.h"
#include "penstock/tensor.h"
#include "released.h"
#include "storage/expand.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

using formats::Field;
using formats::FieldKind;
using formats::Findings;
using formats::OpenOptions;
using formats::Record;

nb::object checked(PyObject* stolen) {
  if (stolen == nullptr) throw nb::python_error();
  return nb::steal(stolen);
}

nb::object text_of(std::string_view text) {
  return checked(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

nb::dict as_dict(const Findings& findings) {
  nb::dict all;
  all["not_files"] = findings.not_files;
  all["sparse"] = findings.sparse;
  all["unnamed"] = findings.unnamed;
  all["damaged"] = findings.damaged;
  all["duplicates"] = findings.duplicates;
  all["cut"] = findings.cut;
  all["without_end"] = findings.without_end;
  return all;
}

// ---- records by number

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
  std::optional<Result<std::shared_ptr<const formats::Records>>> records;
  {
    const Released released;
    records.emplace(formats::open_records(names, options));
  }
  return {must(*std::move(records))};
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

// ---- tars from front to back

// Samples as dicts of bytes. Records are read some at a time without the GIL, so that it is not let
// go and taken for each small one.
class TarIterator {
 public:
  TarIterator(const std::vector<std::string>& names, OpenOptions options, nb::object errors)
      : errors_(std::move(errors)) {
    options.large_members = [this](std::size_t size) { return make_bytes(size); };
    stream_ = must(formats::open_stream(names, *pool_, options));
  }
  TarIterator(nb::handle source, OpenOptions options, nb::object errors)
      : errors_(std::move(errors)) {
    options.large_members = [this](std::size_t size) { return make_bytes(size); };
    if (PyObject_GetBuffer(source.ptr(), &memory_, PyBUF_SIMPLE) != 0) throw nb::python_error();
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(memory_.buf),
                                           static_cast<std::size_t>(memory_.len));
    stream_ = formats::tar::stream_memory(bytes, *pool_, options);
  }
  TarIterator(const TarIterator&) = delete;
  TarIterator& operator=(const TarIterator&) = delete;
  ~TarIterator() {
    if (memory_.obj != nullptr) PyBuffer_Release(&memory_);
  }

  nb::object next() {
    for (;;) {
      if (next_ == count_) {
        if (ended_) throw nb::stop_iteration();
        refill();
        continue;
      }
      Entry& entry = entries_[next_++];
      if (!entry.error) {
        nb::object sample = dict_of(entry.record);
        entry.record.clear();
        return sample;
      }
      const Error error = *std::exchange(entry.error, std::nullopt);
      if (errors_.is_none()) raise(error);
      errors_.attr("append")(text_of(error.to_string()));
    }
  }

  nb::dict findings() const { return as_dict(stream_->findings()); }

 private:
  struct Entry {
    Record record;
    std::optional<Error> error;
  };
  static constexpr std::size_t kMostRecords = 64;
  static constexpr std::size_t kMostBytes = std::size_t(256) << 10;

  void refill() {
    if (busy_.test_and_set()) {
      raise(Error(Code::invalid_argument,
                  "another thread is taking from this iterator: give each "
                  "thread its own"));
    }
    next_ = count_ = 0;
    const Released released;
    for (std::size_t bytes = 0; count_ < kMostRecords && bytes < kMostBytes && !ended_;) {
      Entry& entry = entries_[count_];
      Result<bool> more = stream_->next(entry.record);
      if (!more) {
        entry.error = std::move(more).error();
      } else if (!*more) {
        ended_ = true;
        break;
      }
      ++count_;
      for (const Field& field : entry.record.fields) bytes += field.bytes.size();
    }
    busy_.clear();
  }

  // Memory of a large member: that of the bytes object which Python will see.
  Result<Buffer> make_bytes(std::size_t size) {
    const nb::gil_scoped_acquire acquired;
    PyObject* made = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size));
    if (made == nullptr) {
      PyErr_Clear();
      return Error(Code::out_of_memory, "no memory for " + std::to_string(size) + " bytes");
    }
    large_.push_back(made);
    return Buffer::wrap(PyBytes_AS_STRING(made), size, [this, made] {
      const nb::gil_scoped_acquire held;
      std::erase(large_, made);
      Py_DECREF(made);
    });
  }

  nb::object bytes_of(const Field& field) const {
    if (field.memory) {
      for (PyObject* made : large_) {
        const void* start = PyBytes_AS_STRING(made);
        if (start == field.bytes.data()) return nb::borrow(made);
      }
    }
    return checked(PyBytes_FromStringAndSize(field.text().data(),
                                             static_cast<Py_ssize_t>(field.bytes.size())));
  }

  nb::object dict_of(const Record& record) {
    nb::object all = checked(PyDict_New());
    for (std::size_t i = 0; i < record.fields.size(); ++i) {
      const Field& field = record.fields[i];
      const nb::object value =
          field.kind == FieldKind::text ? text_of(field.text()) : bytes_of(field);
      if (PyDict_SetItem(all.ptr(), name_of(field.name, i).ptr(), value.ptr()) != 0) {
        throw nb::python_error();
      }
    }
    return all;
  }

  // The name as a Python string, made once; the stream's names stay where they are.
  nb::handle name_of(std::string_view name, std::size_t near) {
    if (near < names_.size() && names_[near].first == name.data()) return names_[near].second;
    for (const auto& [known, object] : names_) {
      if (known == name.data()) return object;
    }
    names_.emplace_back(name.data(), text_of(name));
    return names_.back().second;
  }

  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();
  Py_buffer memory_{};
  nb::object errors_;
  std::vector<PyObject*> large_;  // those that were made and not let go yet
  std::unique_ptr<formats::RecordStream> stream_;
  std::vector<Entry> entries_{kMostRecords};
  std::size_t next_ = 0, count_ = 0;
  bool ended_ = false;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  std::vector<std::pair<const char*, nb::object>> names_;
};

std::unique_ptr<TarIterator> iter_tar(nb::object source, const std::vector<std::string>& fields,
                                      std::uint64_t max_member, nb::object errors) {
  OpenOptions options;
  options.format = formats::Format::tar;
  options.fields = fields;
  options.max_member = max_member;
  if (std::vector<std::string> names; nb::try_cast(source, names)) {
    return std::make_unique<TarIterator>(names, options, std::move(errors));
  }
  return std::make_unique<TarIterator>(nb::handle(source), options, std::move(errors));
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
      "expand", [](const std::vector<std::string>& names) { return must(storage::expand(names)); },
      "names"_a, "Names with their patterns expanded.");
  m.def(
      "format_of",
      [](const std::vector<std::string>& names) {
        return std::string(formats::name_of(must(formats::detect_format(names))));
      },
      "names"_a, "The format that all of these have: \"tar\" and the like.");
  nb::class_<TarIterator>(m, "TarIterator", "Samples of tars, from front to back.")
      .def(
          "__iter__", [](nb::handle self) { return self; },
          nb::sig("def __iter__(self) -> TarIterator"))
      .def("__next__", &TarIterator::next, nb::sig("def __next__(self) -> dict[str, object]"))
      .def("findings", &TarIterator::findings, nb::sig("def findings(self) -> dict[str, int]"),
           "What was passed over, damaged or missing so far.");
  m.def("iter_tar", &iter_tar, "source"_a, "fields"_a, "max_member"_a, "errors"_a.none(),
        nb::sig("def iter_tar(source: typing.Any, fields: list[str], max_member: int, errors: "
                "list[str] | None) -> TarIterator"),
        "See penstock.io.iter_tar.");
}

}  // namespace penstock::bindings
