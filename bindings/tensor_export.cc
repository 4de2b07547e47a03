#include "tensor_export.h"

#include <array>
#include <memory>

#include "core/dlpack.h"
#include "errors.h"

namespace nb = nanobind;

namespace penstock::bindings {
namespace {

constexpr const char* kNoBfloat16 =
    "NumPy and the buffer protocol have no bfloat16: use torch.from_dlpack(t) or "
    "jax.numpy.from_dlpack(t)";

// A letter of the struct module; null for bfloat16, which has none.
const char* format_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return "?";
    case DType::int8:
      return "b";
    case DType::int16:
      return "h";
    case DType::int32:
      return "i";
    case DType::int64:
      return sizeof(long) == 8 ? "l" : "q";
    case DType::uint8:
      return "B";
    case DType::uint16:
      return "H";
    case DType::uint32:
      return "I";
    case DType::uint64:
      return sizeof(long) == 8 ? "L" : "Q";
    case DType::float16:
      return "e";
    case DType::bfloat16:
      return nullptr;
    case DType::float32:
      return "f";
    case DType::float64:
      return "d";
  }
  return nullptr;
}

// The numbers that a Py_buffer points to, in bytes where DLPack and Tensor count elements.
struct Extents {
  std::array<Py_ssize_t, Tensor::max_rank> shape;
  std::array<Py_ssize_t, Tensor::max_rank> strides;
};

int refuse(Py_buffer* view, const char* message) {
  view->obj = nullptr;
  PyErr_SetString(PyExc_BufferError, message);
  return -1;
}

bool is_fortran_contiguous(const Tensor& tensor) {
  std::int64_t step = 1;
  for (std::size_t d = 0; d < tensor.rank(); ++d) {
    if (tensor.shape()[d] > 1 && tensor.strides()[d] != step) return tensor.size() == 0;
    step *= tensor.shape()[d];
  }
  return true;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  const auto wants = [flags](int all) { return (flags & all) == all; };
  const Tensor& tensor = *nb::inst_ptr<Tensor>(self);
  const char* format = format_of(tensor.dtype());
  if (format == nullptr) return refuse(view, kNoBfloat16);
  if (wants(PyBUF_WRITABLE) && tensor.read_only()) return refuse(view, "this tensor is read-only");
  const bool contiguous = tensor.is_contiguous();
  if ((wants(PyBUF_C_CONTIGUOUS) || !wants(PyBUF_STRIDES)) && !contiguous) {
    return refuse(view, "the elements of this tensor do not lie side by side");
  }
  if (wants(PyBUF_F_CONTIGUOUS) && !is_fortran_contiguous(tensor)) {
    return refuse(view, "this tensor is not in Fortran order");
  }
  if (wants(PyBUF_ANY_CONTIGUOUS) && !contiguous && !is_fortran_contiguous(tensor)) {
    return refuse(view, "the elements of this tensor do not lie side by side");
  }

  auto extents = std::make_unique<Extents>();
  const auto element = static_cast<Py_ssize_t>(size_of(tensor.dtype()));
  for (std::size_t d = 0; d < tensor.rank(); ++d) {
    extents->shape[d] = tensor.shape()[d];
    extents->strides[d] = tensor.strides()[d] * element;
  }
  static std::byte nothing;  // some consumers take a null pointer for an error
  view->buf = tensor.raw() == nullptr ? &nothing : tensor.raw();
  view->obj = Py_NewRef(self);
  view->len = static_cast<Py_ssize_t>(tensor.nbytes());
  view->readonly = tensor.read_only() ? 1 : 0;
  view->itemsize = element;
  view->format = wants(PyBUF_FORMAT) ? const_cast<char*>(format) : nullptr;
  view->ndim = static_cast<int>(tensor.rank());
  view->shape = wants(PyBUF_ND) ? extents->shape.data() : nullptr;
  view->strides = wants(PyBUF_STRIDES) ? extents->strides.data() : nullptr;
  view->suboffsets = nullptr;
  view->internal = extents.release();
  return 0;
}

void release_buffer(PyObject*, Py_buffer* view) noexcept {
  delete static_cast<Extents*>(view->internal);
}

template <class Managed>
nb::object make_capsule(Managed* managed, const char* name) {
  // A consumer renames the capsule when it takes over; until then the memory is the capsule's.
  PyObject* capsule = PyCapsule_New(managed, name, [](PyObject* self) {
    const char* current = PyCapsule_GetName(self);
    if (current == nullptr || std::string_view(current).starts_with("used_")) return;
    auto* unused = static_cast<Managed*>(PyCapsule_GetPointer(self, current));
    if (unused != nullptr) unused->deleter(unused);
  });
  if (capsule == nullptr) {
    managed->deleter(managed);
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

}  // namespace

PyType_Slot* buffer_slots() {
  static PyType_Slot slots[] = {
      {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
      {0, nullptr},
  };
  return slots;
}

nb::object to_numpy(nb::handle tensor, nb::object dtype, nb::object copy) {
  if (nb::cast<const Tensor&>(tensor).dtype() == DType::bfloat16) {
    throw nb::type_error(kNoBfloat16);
  }
  const nb::object numpy = nb::module_::import_("numpy");
  const nb::object view = nb::steal(PyMemoryView_FromObject(tensor.ptr()));
  if (!view.is_valid()) throw nb::python_error();
  nb::object array = numpy.attr("asarray")(view);
  if (!dtype.is_none() && !numpy.attr("dtype")(dtype).equal(array.attr("dtype"))) {
    if (copy.ptr() == Py_False) {
      throw nb::value_error("another dtype needs a copy, and copy=False forbids it");
    }
    return array.attr("astype")(dtype);
  }
  return copy.ptr() == Py_True ? nb::object(array.attr("copy")()) : array;
}

nb::object to_capsule(const Tensor& tensor, nb::object stream, nb::object max_version,
                      nb::object dl_device, nb::object copy) {
  if (!stream.is_none()) throw nb::value_error("stream must be None for memory of the CPU");
  if (!dl_device.is_none() && !dl_device.equal(nb::make_tuple(dlpack::kCPU, 0))) {
    throw nb::buffer_error("dl_device: this tensor is in the memory of the CPU, (1, 0)");
  }
  const bool copied = copy.ptr() == Py_True;
  const Tensor shared = copied ? must(tensor.clone()) : tensor;
  const bool versioned = !max_version.is_none() && nb::cast<int>(max_version[0]) >= 1;
  if (versioned) {
    return make_capsule(dlpack::to_dlpack_versioned(shared, copied), "dltensor_versioned");
  }
  if (shared.read_only()) {
    throw nb::buffer_error(
        "this tensor is read-only, which only DLPack 1.0 and later can say: pass "
        "max_version=(1, 0) or copy=True");
  }
  return make_capsule(dlpack::to_dlpack(shared), "dltensor");
}

}  // namespace penstock::bindings
