#include "tensor_import.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "errors.h"
#include "python_value.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

// The class of Tensors, to be compared with where the GIL is not held.
PyTypeObject* tensor_type = nullptr;

// From a letter of the struct module and its size.
Result<DType> dtype_of_format(const char* format, Py_ssize_t size) {
  const char letter = format != nullptr && format[0] != '\0' && format[1] == '\0' ? format[0] : '?';
  const std::string_view letters = "bhilqBHILQefd";
  if (format != nullptr && std::string_view(format) == "?") return DType::boolean;
  const auto at = letters.find(letter);
  if (at == std::string_view::npos) {
    return Error(
        Code::invalid_argument,
        "an array of element type '" + std::string(format ? format : "") + "' cannot be a Tensor");
  }
  if (at >= 10) return at == 10 ? DType::float16 : at == 11 ? DType::float32 : DType::float64;
  const bool is_signed = at < 5;
  switch (size) {
    case 1:
      return is_signed ? DType::int8 : DType::uint8;
    case 2:
      return is_signed ? DType::int16 : DType::uint16;
    case 4:
      return is_signed ? DType::int32 : DType::uint32;
    default:
      return is_signed ? DType::int64 : DType::uint64;
  }
}

// The memoryview lives as long as the Tensor, and keeps its object's memory where it is.
Tensor view_of(nb::object memory) {
  const Py_buffer& view = *PyMemoryView_GET_BUFFER(memory.ptr());
  const DType type = must(dtype_of_format(view.format, view.itemsize));
  if (view.ndim > int(Dims::max_rank)) {
    raise(Error(Code::invalid_argument, "a Tensor has 8 dimensions at most"));
  }
  std::int64_t shape[Dims::max_rank], strides[Dims::max_rank];
  std::ptrdiff_t low = 0, high = view.itemsize;  // of the bytes used, from the first element
  for (int d = 0; d < view.ndim; ++d) {
    shape[d] = view.shape[d];
    if (view.strides[d] % view.itemsize != 0) {
      raise(Error(Code::invalid_argument, "an array with elements out of step cannot be a Tensor"));
    }
    strides[d] = view.strides[d] / view.itemsize;
    const std::ptrdiff_t reach = view.strides[d] * std::max<Py_ssize_t>(view.shape[d] - 1, 0);
    (reach < 0 ? low : high) += reach;
  }
  const auto rank = static_cast<std::size_t>(view.ndim);
  if (view.len == 0) return must(Tensor::empty(type, Dims(std::span(shape, rank))));
  std::byte* const first = static_cast<std::byte*>(view.buf) + low;
  const auto bytes = static_cast<std::size_t>(high - low);
  auto kept = std::make_shared<PyValue>(memory.release().ptr());
  const auto release = [kept]() mutable { kept.reset(); };
  Buffer buffer = view.readonly ? Buffer::wrap_read_only(first, bytes, release)
                                : Buffer::wrap(first, bytes, release);
  return must(Tensor::over(std::move(buffer), type, Dims(std::span(shape, rank)),
                           Dims(std::span(strides, rank)), static_cast<std::size_t>(-low)));
}

}  // namespace

Tensor tensor_of(nb::handle object) {
  if (nb::isinstance<Tensor>(object)) return nb::cast<Tensor>(object);
  nb::object array = nb::borrow(object);
  if (!PyObject_CheckBuffer(object.ptr())) {
    array = nb::module_::import_("numpy").attr("asarray")(object);
  }
  nb::object memory = nb::steal(PyMemoryView_FromObject(array.ptr()));
  if (!memory.is_valid()) throw nb::python_error();
  return view_of(std::move(memory));
}

const Tensor* tensor_in(const Item& item) noexcept {
  if (const Tensor* tensor = item.get<Tensor>()) return tensor;
  const PyValue* value = item.get<PyValue>();
  if (value == nullptr || Py_TYPE(value->get()) != tensor_type) return nullptr;
  return nb::inst_ptr<Tensor>(value->get());
}

void bind_tensor_import(nb::module_& m) {
  tensor_type = reinterpret_cast<PyTypeObject*>(nb::type<Tensor>().ptr());
  m.def("as_tensor", &tensor_of, "array"_a, nb::sig("def as_tensor(array: typing.Any) -> Tensor"),
        "A Tensor on the memory of an array: nothing is copied.");
}

}  // namespace penstock::bindings
