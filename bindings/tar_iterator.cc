#include "tar_iterator.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "errors.h"
#include "formats/open.h"
#include "formats/tar/tar.h"
#include "record_values.h"
#include "released.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

using formats::Field;
using formats::FieldKind;
using formats::OpenOptions;
using formats::Record;

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
    const Held held;
    PyObject* made = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size));
    if (made == nullptr) {
      PyErr_Clear();
      return Error(Code::out_of_memory, "no memory for " + std::to_string(size) + " bytes");
    }
    large_.push_back(made);
    return Buffer::wrap(PyBytes_AS_STRING(made), size, [this, made] {
      const Held held;
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

void bind_tar_iterator(nb::module_& m) {
  nb::class_<TarIterator>(m, "TarIterator", "Samples of tars, from front to back.")
      .def(
          "__iter__", [](nb::handle self) { return self; },
          nb::sig("def __iter__(self) -> TarIterator"))
      .def("__next__", &TarIterator::next, nb::sig("def __next__(self) -> dict[str, typing.Any]"))
      .def("findings", &TarIterator::findings, nb::sig("def findings(self) -> dict[str, int]"),
           "What was passed over, damaged or missing so far.");
  m.def("iter_tar", &iter_tar, "source"_a, "fields"_a, "max_member"_a, "errors"_a.none(),
        nb::sig("def iter_tar(source: typing.Any, fields: list[str], max_member: int, errors: "
                "list[str] | None) -> TarIterator"),
        "See penstock.io.iter_tar.");
}

}  // namespace penstock::bindings
