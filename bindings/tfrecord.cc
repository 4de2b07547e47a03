// TFRecord files and Examples in Python. Conversion only.
#include "formats/tfrecord/tfrecord.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "borrowed.h"
#include "data/steps.h"
#include "data_values.h"
#include "errors.h"
#include "formats/open.h"
#include "formats/tfrecord/example.h"
#include "formats/tfrecord/writer.h"
#include "released.h"
#include "texts.h"
#include "tfrecord_specs.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

using formats::OpenOptions;
using formats::Record;
namespace tfrecord = formats::tfrecord;

nb::object checked(PyObject* stolen) {
  if (stolen == nullptr) throw nb::python_error();
  return nb::steal(stolen);
}

// ---- from front to back

// Records as bytes, or as dicts if they are parsed. Several are read at a time without the GIL.
class TFRecordIterator {
 public:
  TFRecordIterator(nb::object source, const Specs& specs, const OpenOptions& options,
                   nb::object errors)
      : errors_(std::move(errors)) {
    if (!specs.empty()) step_ = data::example_step(specs_of(specs));
    if (std::vector<std::string> names; nb::try_cast(source, names)) {
      stream_ = must(formats::open_stream(names, *pool_, options));
    } else {
      memory_.emplace(source, PyBUF_SIMPLE);
      stream_ = tfrecord::stream_memory(memory_->bytes(), *pool_, options);
    }
  }

  // Null at the end, and with an exception set.
  PyObject* next() {
    for (;;) {
      if (next_ == count_) {
        if (ended_) return nullptr;
        refill();
        continue;
      }
      Entry& entry = entries_[next_++];
      if (!entry.error) return value_of(entry);
      const Error error = *std::exchange(entry.error, std::nullopt);
      if (errors_.is_none()) raise(error);
      errors_.attr("append")(text_of(error.to_string()));
    }
  }

  nb::dict findings() const {
    const formats::Findings found = stream_->findings();
    nb::dict all;
    all["damaged"] = found.damaged;
    all["checksums"] = found.checksums;
    all["cut"] = found.cut;
    return all;
  }

 private:
  struct Entry {
    Record record;
    data::Row row;
    std::optional<Error> error;
  };
  static constexpr std::size_t kMostRecords = 256;
  static constexpr std::size_t kMostBytes = std::size_t(256) << 10;

  PyObject* value_of(Entry& entry) {
    nb::object value;
    if (step_) {
      value = to_python(entry.row);
      entry.row.fields.clear();
    } else {
      const std::string_view text = entry.record.fields[0].text();
      value = checked(PyBytes_FromStringAndSize(text.data(), Py_ssize_t(text.size())));
    }
    entry.record.clear();
    return value.release().ptr();
  }

  void refill() {
    if (busy_.test_and_set()) {
      raise(Error(Code::invalid_argument,
                  "another thread is taking from this iterator: give each thread its own"));
    }
    next_ = count_ = 0;
    const Released released;
    for (std::size_t bytes = 0; count_ < kMostRecords && bytes < kMostBytes && !ended_;) {
      Entry& entry = entries_[count_];
      Result<bool> more = stream_->next(entry.record);
      if (more && !*more) {
        ended_ = true;
        break;
      }
      ++count_;
      if (!more) {
        entry.error = std::move(more).error();
        continue;
      }
      bytes += entry.record.fields[0].bytes.size();
      if (step_) parse(entry);
    }
    busy_.clear();
  }

  void parse(Entry& entry) {
    entry.row.fields.clear();
    entry.row.fields.push_back(
        {"data", data::Bytes{entry.record.fields[0].bytes, entry.record.memory, {}}});
    Status status = step_->run({RandomKey(0, 0), 0, *pool_}, entry.row);
    if (!status) entry.error = std::move(status).error();
  }

  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();
  std::optional<BorrowedBytes> memory_;
  nb::object errors_;
  data::StepPtr step_;
  std::unique_ptr<formats::RecordStream> stream_;
  std::vector<Entry> entries_{kMostRecords};
  std::size_t next_ = 0, count_ = 0;
  bool ended_ = false;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

// A slot of the type, not a method: a method costs more than a small record does.
PyObject* next_record(PyObject* self) noexcept {
  try {
    return nb::inst_ptr<TFRecordIterator>(self)->next();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyType_Slot iterator_slots[] = {
    {Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
    {Py_tp_iternext, reinterpret_cast<void*>(next_record)},
    {0, nullptr},
};

std::unique_ptr<TFRecordIterator> iter_tfrecord(nb::object source, const Specs& specs, bool verify,
                                                std::uint64_t max_member, nb::object errors) {
  OpenOptions options;
  options.format = formats::Format::tfrecord;
  options.verify = verify;
  options.max_member = max_member;
  return std::make_unique<TFRecordIterator>(std::move(source), specs, options, std::move(errors));
}

// ---- Examples

std::pair<Specs, std::vector<std::string>> infer_example(nb::handle record) {
  const BorrowedBytes bytes(record, PyBUF_SIMPLE);
  tfrecord::Inferred found = tfrecord::infer(bytes.bytes());
  Specs specs;
  for (const tfrecord::FeatureSpec& spec : found.specs) specs.emplace_back(spec.name, spec.text());
  return {std::move(specs), std::move(found.untyped)};
}

nb::dict parse_example(nb::object record, const Specs& specs) {
  BufferPool pool;
  data::Row row;
  row.fields.push_back({"data", to_value(record)});
  const data::StepPtr step = data::example_step(specs_of(specs));
  must(step->run({RandomKey(0, 0), 0, pool}, row));
  return to_python(row);
}

// (name, values): a list of bytes-like objects, or an array of int64 or float32.
nb::bytes encode_example(const std::vector<std::pair<std::string, nb::object>>& features) {
  tfrecord::ExampleBuilder builder;
  for (const auto& [name, values] : features) {
    if (PyList_Check(values.ptr())) {
      std::vector<BorrowedBytes> held;
      std::vector<std::span<const std::byte>> items;
      for (const nb::handle item : nb::borrow<nb::list>(values)) {
        items.push_back(held.emplace_back(item, PyBUF_SIMPLE).bytes());
      }
      builder.add_bytes(name, items);
      continue;
    }
    const std::optional<Tensor> array = to_tensor(values);
    const auto count = array ? std::size_t(array->size()) : 0;
    if (array && array->dtype() == DType::int64) {
      builder.add_integers(name, {array->data<std::int64_t>(), count});
    } else if (array && array->dtype() == DType::float32) {
      builder.add_floats(name, {array->data<float>(), count});
    } else {
      raise(Error(Code::invalid_argument, "'" + name + "' is neither bytes nor int64 nor float32"));
    }
  }
  const std::string example = builder.finish();
  return nb::bytes(example.data(), example.size());
}

// ---- writing

struct TFRecordWriter {
  std::unique_ptr<tfrecord::Writer> writer;

  void write(nb::handle record) {
    const BorrowedBytes bytes(record, PyBUF_SIMPLE);
    Status status;
    {
      const Released released;
      status = writer->write(bytes.bytes());
    }
    must(status);
  }
  void close() {
    Status status;
    {
      const Released released;
      status = writer->close();
    }
    must(status);
  }
};

TFRecordWriter* create(const std::string& path, const std::string& packing) {
  static const std::map<std::string_view, tfrecord::Packing> packings = {
      {"", tfrecord::Packing::none},
      {"gzip", tfrecord::Packing::gzip},
      {"zlib", tfrecord::Packing::zlib}};
  return new TFRecordWriter{
      must(tfrecord::Writer::create(path, named(packings, packing, "compression")))};
}

}  // namespace

void bind_tfrecord(nb::module_& m) {
  nb::class_<TFRecordIterator>(m, "TFRecordIterator", nb::type_slots(iterator_slots),
                               "Records of TFRecord files, from front to back.")
      .def("findings", &TFRecordIterator::findings, nb::sig("def findings(self) -> dict[str, int]"),
           "What was damaged or missing so far.");
  m.def("iter_tfrecord", &iter_tfrecord, "source"_a, "specs"_a, "verify"_a, "max_member"_a,
        "errors"_a.none(),
        nb::sig("def iter_tfrecord(source: typing.Any, specs: list[tuple[str, str]], verify: bool, "
                "max_member: int, errors: list[str] | None) -> TFRecordIterator"),
        "See penstock.io.iter_tfrecord.");
  m.def(
      "tfrecord_is_packed",
      [](const std::vector<std::string>& names) {
        std::optional<Result<bool>> packed;
        {
          const Released released;
          packed.emplace(tfrecord::is_packed(names));
        }
        return must(*std::move(packed));
      },
      "names"_a, "Is one of these files compressed?");
  m.def("infer_example", &infer_example, "record"_a,
        nb::sig("def infer_example(record: typing.Any) -> tuple[list[tuple[str, str]], list[str]]"),
        "The fields that a record has, by name, and the names of those without a type; empty if it "
        "is no Example.");
  m.def("parse_example", &parse_example, "record"_a, "specs"_a,
        nb::sig("def parse_example(record: typing.Any, specs: list[tuple[str, str]]) -> "
                "dict[str, typing.Any]"),
        "See penstock.io.parse_example.");
  m.def("encode_example", &encode_example, "features"_a,
        nb::sig("def encode_example(features: list[tuple[str, typing.Any]]) -> bytes"),
        "See penstock.io.encode_example.");
  nb::class_<TFRecordWriter>(m, "TFRecordWriter", "See penstock.io.TFRecordWriter.")
      .def(nb::new_(&create), "path"_a, "compression"_a)
      .def("write", &TFRecordWriter::write, "record"_a,
           nb::sig("def write(self, record: typing.Any) -> None"))
      .def("close", &TFRecordWriter::close);
}

}  // namespace penstock::bindings
