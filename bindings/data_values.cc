#include "data_values.h"

#include <nanobind/stl/string.h>

#include <array>
#include <cstring>
#include <memory>

#include "errors.h"
#include "json_value.h"
#include "python_value.h"
#include "tensor_export.h"
#include "texts.h"

namespace nb = nanobind;

namespace penstock::bindings {
namespace {

using data::Bytes;
using data::Object;
using data::Text;

nb::object checked(PyObject* stolen) {
  if (stolen == nullptr) throw nb::python_error();
  return nb::steal(stolen);
}

Object hold(nb::handle object) {
  return std::make_shared<PyValue>(PyValue::borrow(object.ptr()));
}

// The same, with its memory kept where it is: nobody may resize a bytearray meanwhile.
Object hold_memory(nb::handle object) {
  return hold(PyBytes_Check(object.ptr()) ? nb::borrow(object)
                                          : checked(PyMemoryView_FromObject(object.ptr())));
}

nb::object held(const Object& object) {
  const auto* value = static_cast<const PyValue*>(object.get());
  return value == nullptr ? nb::none() : nb::borrow(value->get());
}

// What memoryviews of raw fields look at: cheap to make, for there is one for each field.
struct ByteView {
  Buffer memory;
  std::span<const std::byte> bytes;
};

int get_bytes(PyObject* self, Py_buffer* view, int flags) noexcept {
  const ByteView& bytes = *nb::inst_ptr<ByteView>(self);
  return PyBuffer_FillInfo(view, self, const_cast<std::byte*>(bytes.bytes.data()),
                           static_cast<Py_ssize_t>(bytes.bytes.size()), 1, flags);
}

PyType_Slot byte_view_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_bytes)},
    {0, nullptr},
};

nb::object view_of(const Bytes& bytes) {
  if (bytes.owner) return held(bytes.owner);
  if (bytes.bytes.empty()) return checked(PyMemoryView_FromObject(nb::bytes("", 0).ptr()));
  return checked(PyMemoryView_FromObject(nb::cast(ByteView{bytes.memory, bytes.bytes}).ptr()));
}

// Views of records that share blocks of memory: slices of one view of the block, which are cheaper
// than views of their own. A block that is met once has no such view.
class SharedViews {
 public:
  nb::object view_of(const Bytes& bytes) {
    const bool small = bytes.memory && bytes.bytes.size() < bytes.memory.size() / 4;
    const nb::object* all = small && !bytes.owner ? whole(bytes.memory) : nullptr;
    if (all == nullptr || bytes.bytes.empty()) return bindings::view_of(bytes);
    const auto offset = static_cast<Py_ssize_t>(bytes.bytes.data() - bytes.memory.data());
    const auto size = static_cast<Py_ssize_t>(bytes.bytes.size());
    const nb::object first = checked(PyLong_FromSsize_t(offset));
    const nb::object last = checked(PyLong_FromSsize_t(offset + size));
    const nb::object slice = checked(PySlice_New(first.ptr(), last.ptr(), nullptr));
    return checked(PyObject_GetItem(all->ptr(), slice.ptr()));
  }

 private:
  struct Known {
    const std::byte* block = nullptr;
    nb::object view;  // made when the block is met again
  };

  // Neighbours in a batch lie in one of a few blocks: one per shard of a group that was read.
  const nb::object* whole(const Buffer& memory) {
    for (Known& one : known_) {
      if (one.block != memory.data()) continue;
      if (!one.view.is_valid()) {
        one.view =
            checked(PyMemoryView_FromObject(nb::cast(ByteView{memory, memory.bytes()}).ptr()));
      }
      return &one.view;
    }
    known_[next_++ % known_.size()] = {memory.data(), {}};
    return nullptr;
  }

  std::array<Known, 8> known_;
  std::size_t next_ = 0;
};

nb::object text_of(const Text& text) {
  if (text.owner) return held(text.owner);
  return bindings::text_of(text.text());
}

std::optional<DType> dtype_of(const Py_buffer& view) {
  const char* format = view.format == nullptr ? "B" : view.format;
  if (*format == '<' || *format == '=' || *format == '@') ++format;
  if (std::strlen(format) != 1) return std::nullopt;
  const auto pick = [&](DType one, DType two, DType four, DType eight) -> std::optional<DType> {
    switch (view.itemsize) {
      case 1:
        return one;
      case 2:
        return two;
      case 4:
        return four;
      case 8:
        return eight;
      default:
        return std::nullopt;
    }
  };
  switch (*format) {
    case '?':
      return DType::boolean;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      return pick(DType::int8, DType::int16, DType::int32, DType::int64);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      return pick(DType::uint8, DType::uint16, DType::uint32, DType::uint64);
    case 'e':
      return DType::float16;
    case 'f':
      return DType::float32;
    case 'd':
      return DType::float64;
    default:
      return std::nullopt;
  }
}

bool is_bytes_like(nb::handle object) {
  return PyBytes_Check(object.ptr()) || PyByteArray_Check(object.ptr()) ||
         PyMemoryView_Check(object.ptr());
}

// NumPy shows dates and times as bytes.
bool is_time(nb::handle object) {
  const std::string_view type = Py_TYPE(object.ptr())->tp_name;
  return type == "numpy.datetime64" || type == "numpy.timedelta64";
}

void give(const Tensor& tensor) {
  tensor.buffer().give_to_user();
}

void give(const data::Value& value) {
  if (const auto* list = std::get_if<data::BytesList>(&value)) list->memory.give_to_user();
  if (const auto* array = std::get_if<Tensor>(&value)) give(*array);
  if (const auto* all = std::get_if<data::ListPtr>(&value)) {
    for (const data::Value& item : (*all)->items) give(item);
  }
}

}  // namespace

void bind_byte_view(nb::module_& m) {
  nb::class_<ByteView>(m, "ByteView", nb::type_slots(byte_view_slots),
                       "Bytes of a record; read through a memoryview.");
}

std::optional<Tensor> to_tensor(nb::handle object) {
  Py_buffer view;
  if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  const std::optional<DType> dtype = dtype_of(view);
  const bool fits = dtype && view.ndim <= static_cast<int>(Dims::max_rank) &&
                    reinterpret_cast<std::uintptr_t>(view.buf) % size_of(*dtype) == 0;
  const bool contiguous = PyBuffer_IsContiguous(&view, 'C') == 1;
  std::optional<Tensor> tensor;
  if (fits && contiguous) {
    std::vector<std::int64_t> shape(view.shape, view.shape + view.ndim);
    const Object keep = hold_memory(object);
    Buffer memory = Buffer::wrap_read_only(view.buf, static_cast<std::size_t>(view.len), [keep] {});
    Result<Tensor> made =
        Tensor::over(std::move(memory), *dtype, Dims(std::span<const std::int64_t>(shape)));
    if (made) tensor = *std::move(made);
  }
  PyBuffer_Release(&view);
  if (fits && !contiguous) {
    const nb::object numpy = nb::module_::import_("numpy");
    return to_tensor(numpy.attr("ascontiguousarray")(object));
  }
  return tensor;
}

nb::object to_python(const data::Value& value) {
  struct Visitor {
    nb::object operator()(std::monostate) const { return nb::none(); }
    nb::object operator()(const Bytes& bytes) const { return view_of(bytes); }
    nb::object operator()(const Text& text) const {
      if (text.owner) {  // a str of the user's own, or bytes that were found to be text
        if (nb::object object = held(text.owner); PyUnicode_Check(object.ptr())) return object;
      }
      return text_of(text);
    }
    nb::object operator()(std::int64_t number) const { return nb::int_(number); }
    nb::object operator()(double number) const { return nb::float_(number); }
    nb::object operator()(bool truth) const { return nb::bool_(truth); }
    nb::object operator()(const Tensor& array) const {
      return to_numpy(nb::cast(array), nb::none(), nb::none());
    }
    nb::object operator()(data::Placed) const { return nb::none(); }
    nb::object operator()(const Object& object) const { return held(object); }
    nb::object operator()(const data::BytesList& list) const {
      nb::list all;
      for (const std::span<const std::byte> item : list.items) {
        all.append(view_of(Bytes{item, list.memory, {}}));
      }
      return all;
    }
    nb::object operator()(const data::JsonPtr& json) const { return to_python(*json); }
    nb::object operator()(const data::ListPtr& list) const {
      nb::list all;
      for (const data::Value& item : list->items) all.append(to_python(item));
      return all;
    }
  };
  return std::visit(Visitor(), value);
}

nb::dict to_python(const data::Row& row) {
  nb::dict sample;
  for (const data::RowField& field : row.fields) {
    sample[text_of(field.name)] = to_python(field.value);
  }
  return sample;
}

data::Value to_value(nb::handle object) {
  PyObject* raw = object.ptr();
  if (PyBool_Check(raw)) return raw == Py_True;
  if (PyFloat_CheckExact(raw)) return PyFloat_AS_DOUBLE(raw);
  if (PyLong_Check(raw)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(raw, &overflow);
    if (overflow == 0) return std::int64_t{number};
    return hold(object);
  }
  if (PyUnicode_Check(raw)) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(raw, &size);
    if (text == nullptr) {  // surrogates
      PyErr_Clear();
      return hold(object);
    }
    return Text{Bytes{{reinterpret_cast<const std::byte*>(text), static_cast<std::size_t>(size)},
                      Buffer(),
                      hold(object)}};
  }
  if (is_bytes_like(object)) {
    Py_buffer view;
    if (PyObject_GetBuffer(raw, &view, PyBUF_SIMPLE) != 0) {
      PyErr_Clear();
      return hold(object);
    }
    const std::span bytes(static_cast<const std::byte*>(view.buf),
                          static_cast<std::size_t>(view.len));
    PyBuffer_Release(&view);
    return Bytes{bytes, Buffer(), hold_memory(object)};
  }
  if (is_time(object)) return hold(object);
  if (PyObject_CheckBuffer(raw)) {
    if (std::optional<Tensor> array = to_tensor(object)) return *std::move(array);
    return hold(object);
  }
  if (nb::hasattr(object, "__array__") && !PyType_Check(raw)) {
    const nb::object array = nb::module_::import_("numpy").attr("asarray")(object);
    if (std::optional<Tensor> tensor = to_tensor(array)) return *std::move(tensor);
  }
  return hold(object);
}

data::Row to_row(nb::handle sample) {
  data::Row row;
  if (!PyDict_Check(sample.ptr())) {
    row.fields.push_back({"data", to_value(sample)});
    return row;
  }
  for (const auto& [name, value] : nb::borrow<nb::dict>(sample)) {
    if (!PyUnicode_Check(name.ptr())) {
      throw nb::type_error("the fields of a sample are named by str");
    }
    row.fields.push_back({nb::cast<std::string>(name), to_value(value)});
  }
  return row;
}

nb::object to_python(data::Column& column) {
  if (auto* array = std::get_if<Tensor>(&column.values)) {
    give(*array);
    return nb::cast(std::move(*array));
  }
  if (auto* ragged = std::get_if<data::Ragged>(&column.values)) {
    give(ragged->values);
    return nb::make_tuple(nb::cast(ragged->values), nb::cast(ragged->offsets));
  }
  auto& values = std::get<std::vector<data::Value>>(column.values);
  nb::object all = checked(PyList_New(static_cast<Py_ssize_t>(values.size())));
  std::vector<Buffer> memory;
  memory.reserve(values.size());
  for (const data::Value& value : values) {
    if (const auto* bytes = std::get_if<Bytes>(&value)) memory.push_back(bytes->memory);
  }
  Buffer::give_to_user(memory);
  memory.clear();
  SharedViews views;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Bytes* bytes = std::get_if<Bytes>(&values[i]);
    if (bytes == nullptr) give(values[i]);
    nb::object one = bytes != nullptr ? views.view_of(*bytes) : to_python(values[i]);
    PyList_SET_ITEM(all.ptr(), static_cast<Py_ssize_t>(i), one.release().ptr());
    values[i] = std::monostate();
  }
  return all;
}

}  // namespace penstock::bindings
