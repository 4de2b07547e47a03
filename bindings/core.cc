// Core in Python: BufferPool, Tensor, Permutation and the random stream. Conversion only.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings.h"
#include "errors.h"
#include "penstock/buffer.h"
#include "penstock/permutation.h"
#include "penstock/random.h"
#include "penstock/tensor.h"
#include "released.h"
#include "tensor_export.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {

void raise(const Error& error) {
  PyObject* type = PyExc_RuntimeError;
  switch (error.code()) {
    case Code::invalid_argument:
    case Code::corrupt:
      type = PyExc_ValueError;
      break;
    case Code::not_found:
      type = PyExc_FileNotFoundError;
      break;
    case Code::no_field:
      type = PyExc_KeyError;
      break;
    case Code::io:
      type = PyExc_OSError;
      break;
    case Code::unsupported:
      type = PyExc_NotImplementedError;
      break;
    case Code::out_of_range:
      type = PyExc_IndexError;
      break;
    case Code::out_of_memory:
      type = PyExc_MemoryError;
      break;
    case Code::timeout:
      type = PyExc_TimeoutError;
      break;
    case Code::closed:
    case Code::failed:
    case Code::internal:
      break;
  }
  // Messages quote what is in files, which need not be text.
  const std::string text = error.to_string();
  const nb::object message = nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
  if (message.is_valid()) PyErr_SetObject(type, message.ptr());
  throw nb::python_error();
}

namespace {

nb::tuple as_tuple(const Dims& dims) {
  nb::list items;
  for (const std::int64_t value : dims) items.append(value);
  return nb::tuple(items);
}

std::string repr(const Tensor& tensor) {
  return "Tensor(shape=" + tensor.shape().to_string() +
         ", dtype=" + std::string(name_of(tensor.dtype())) + ")";
}

nb::dict stats(const BufferPool& pool) {
  const PoolStats stats = pool.stats();
  nb::dict all;
  all["budget"] =
      stats.budget == BufferPool::unlimited ? nb::none() : nb::object(nb::int_(stats.budget));
  all["in_use"] = stats.in_use;
  all["reserved"] = stats.reserved;
  all["peak"] = stats.peak;
  all["held_by_user"] = stats.held_by_user;
  all["cached"] = stats.cached;
  all["footprint"] = stats.footprint;
  all["recycled"] = stats.recycled;
  all["fresh"] = stats.fresh;
  all["over_budget"] = stats.over_budget;
  return all;
}

void bind_tensor(nb::module_& m) {
  nb::class_<Tensor>(m, "Tensor", nb::type_slots(buffer_slots()),
                     "An array of one element type in memory that Penstock owns.\n\n"
                     "`numpy.asarray(t)`, `torch.from_dlpack(t)` and `jax.numpy.from_dlpack(t)` "
                     "share its memory and keep it alive.")
      .def_static(
          "empty",
          [](const std::vector<std::int64_t>& shape, std::string_view dtype, BufferPool* pool) {
            const DType type = must(dtype_named(dtype));
            return must(pool == nullptr ? Tensor::empty(type, Dims(shape))
                                        : Tensor::empty(*pool, type, Dims(shape)));
          },
          "shape"_a, "dtype"_a = "uint8", "pool"_a = nb::none(),
          "Uninitialised memory, from `pool` if there is one.")
      .def_prop_ro(
          "shape", [](const Tensor& t) { return as_tuple(t.shape()); },
          nb::sig("def shape(self) -> tuple[int, ...]"), "The extents.")
      .def_prop_ro(
          "strides", [](const Tensor& t) { return as_tuple(t.strides()); },
          nb::sig("def strides(self) -> tuple[int, ...]"), "Steps between neighbours, in elements.")
      .def_prop_ro(
          "dtype", [](const Tensor& t) { return name_of(t.dtype()); },
          "The name of the element type.")
      .def_prop_ro("ndim", &Tensor::rank, "The number of dimensions.")
      .def_prop_ro("size", &Tensor::size, "The number of elements.")
      .def_prop_ro("nbytes", &Tensor::nbytes, "The bytes of all elements.")
      .def_prop_ro("contiguous", &Tensor::is_contiguous, "Do the elements lie side by side?")
      .def(
          "row", [](const Tensor& t, std::int64_t i) { return must(t.row(i)); }, "i"_a,
          "The i-th part along the first dimension: a view.")
      .def(
          "slice",
          [](const Tensor& t, std::size_t dimension, std::int64_t start, std::int64_t stop,
             std::int64_t step) { return must(t.slice(dimension, start, stop, step)); },
          "dimension"_a, "start"_a, "stop"_a, "step"_a = 1,
          "Elements start, start + step, ... before stop of one dimension: a view.")
      .def(
          "reshape",
          [](const Tensor& t, const std::vector<std::int64_t>& shape) {
            return must(t.reshape(Dims(shape)));
          },
          "shape"_a, "The same elements under another shape: a view.")
      .def("__len__",
           [](const Tensor& t) {
             if (t.rank() == 0) throw nb::type_error("a tensor of rank 0 has no len()");
             return t.shape()[0];
           })
      .def("__repr__", &repr)
      .def("__array__", &to_numpy, "dtype"_a = nb::none(), "copy"_a = nb::none(),
           nb::sig("def __array__(self, dtype: typing.Any = None, copy: bool | None = None) -> "
                   "typing.Any"),
           "The NumPy array on the same memory.")
      .def("__dlpack__", &to_capsule, nb::kw_only(), "stream"_a = nb::none(),
           "max_version"_a = nb::none(), "dl_device"_a = nb::none(), "copy"_a = nb::none(),
           nb::sig("def __dlpack__(self, *, stream: typing.Any = None, max_version: tuple[int, "
                   "int] | None = None, dl_device: tuple[int, int] | None = None, copy: bool | "
                   "None = None) -> typing.Any"),
           "A DLPack capsule that shares the memory.")
      .def(
          "__dlpack_device__", [](const Tensor&) { return nb::make_tuple(1, 0); },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"), "The CPU.");
}

// Indices are written without the GIL: a long fill holds nobody up.
Tensor fill(const Permutation& permutation, std::uint64_t start, std::int64_t count,
            std::uint64_t stride, BufferPool* pool) {
  if (count < 0) throw nb::value_error("count must not be negative");
  Tensor indices = must(pool == nullptr ? Tensor::empty(DType::uint64, {count})
                                        : Tensor::empty(*pool, DType::uint64, {count}));
  Status status;
  {
    const Released released;
    status = permutation.fill_strided(
        start, stride, {indices.data<std::uint64_t>(), static_cast<std::size_t>(count)});
  }
  must(status);
  return indices;
}

std::uint64_t checked(const Permutation& permutation, std::uint64_t i) {
  if (i >= permutation.size()) {
    raise(Error(Code::out_of_range, "position " + std::to_string(i) + " of a permutation of " +
                                        std::to_string(permutation.size())));
  }
  return i;
}

void bind_permutation(nb::module_& m) {
  nb::class_<Permutation>(m, "Permutation",
                          "A keyed shuffle of range(n) by arithmetic, in constant memory.\n\n"
                          "The order for given arguments never changes between versions.")
      .def(nb::new_(
               [](std::uint64_t n, std::uint64_t seed, std::uint64_t epoch, std::uint64_t stream) {
                 return must(Permutation::make(n, seed, epoch, stream));
               }),
           "n"_a, "seed"_a = 0, "epoch"_a = 0, "stream"_a = 0)
      .def_prop_ro("n", &Permutation::size, "How many numbers there are.")
      .def("__len__", &Permutation::size)
      .def(
          "__getitem__",
          [](const Permutation& p, std::int64_t i) {
            const auto at = static_cast<std::uint64_t>(i);
            return p.permute(checked(p, i < 0 ? at + p.size() : at));
          },
          "position"_a, "The number at a position of the shuffled order.")
      .def(
          "index",
          [](const Permutation& p, std::uint64_t value) { return p.invert(checked(p, value)); },
          "value"_a, "The position at which a number comes.")
      .def("fill", &fill, "start"_a, "count"_a, "stride"_a = 1, "pool"_a = nb::none(),
           "The numbers at positions start, start + stride, ...: a Tensor of uint64.")
      .def("__repr__",
           [](const Permutation& p) { return "Permutation(" + std::to_string(p.size()) + ")"; });
}

void bind_random(nb::module_& m) {
  nb::class_<RandomStream>(m, "RandomStream",
                           "The random numbers of one operation on one row: Philox4x32-10.\n\n"
                           "They depend on the arguments only, and never change between versions.")
      .def(
          "__init__",
          [](RandomStream* self, std::uint64_t seed, std::uint64_t epoch, std::uint64_t position,
             std::uint32_t operation) {
            new (self) RandomStream(RandomKey(seed, epoch), position, operation);
          },
          "seed"_a, "epoch"_a = 0, "position"_a = 0, "operation"_a = 0)
      .def("bits32", &RandomStream::bits32, "32 uniform bits.")
      .def("bits64", &RandomStream::bits64, "64 uniform bits.")
      .def(
          "uniform", [](RandomStream& s, double a, double b) { return s.uniform(a, b); },
          "a"_a = 0.0, "b"_a = 1.0, "A number in [a, b).")
      .def("below", &RandomStream::below, "n"_a, "An integer in [0, n).")
      .def("normal", &RandomStream::normal, "Mean 0, standard deviation 1.")
      .def("bernoulli", &RandomStream::bernoulli, "p"_a, "True with probability p.");
}

}  // namespace

void bind_core(nb::module_& m) {
  nb::class_<BufferPool>(m, "BufferPool", "Recycled memory under a byte budget.")
      .def(
          "__init__",
          [](BufferPool* self, std::optional<std::size_t> budget) {
            new (self) BufferPool(budget.value_or(BufferPool::unlimited));
          },
          "budget"_a = nb::none(), "`budget` in bytes; None: unlimited.")
      .def_prop_ro(
          "budget",
          [](const BufferPool& pool) -> std::optional<std::size_t> {
            const std::size_t budget = pool.stats().budget;
            if (budget == BufferPool::unlimited) return std::nullopt;
            return budget;
          },
          "Bytes; None: unlimited.")
      .def("stats", &stats, nb::sig("def stats(self) -> dict[str, int | None]"),
           "What is in use, reserved, cached, held by the user, and how often memory was reused.")
      .def("trim", &BufferPool::trim, "Gives cached memory back to the system.");
  bind_tensor(m);
  bind_permutation(m);
  bind_random(m);
}

}  // namespace penstock::bindings
