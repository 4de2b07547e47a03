// What Python passes in: memory borrowed from its objects, and words that stand for values.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "errors.h"
#include "penstock/tensor.h"

namespace penstock::bindings {

// A Python object's memory, borrowed for the length of a call. Made and destroyed under the GIL.
class BorrowedBytes {
 public:
  BorrowedBytes(nanobind::handle object, int flags) {
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nanobind::python_error();
  }
  BorrowedBytes(BorrowedBytes&& other) noexcept : view_(std::exchange(other.view_, Py_buffer{})) {}
  BorrowedBytes(const BorrowedBytes&) = delete;
  BorrowedBytes& operator=(const BorrowedBytes&) = delete;
  ~BorrowedBytes() {
    if (view_.obj != nullptr) PyBuffer_Release(&view_);
  }

  const Py_buffer& view() const { return view_; }
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(view_.buf), std::size_t(view_.len)};
  }

 private:
  Py_buffer view_{};
};

// The user's own array to write into, without gaps; it must have the shape and the type given.
class GivenArray {
 public:
  GivenArray(nanobind::handle out, DType type, const Dims& dims)
      : memory_(out, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) {
    const Py_buffer& view = memory_.view();
    const char* format = type == DType::uint8 ? "B" : type == DType::float32 ? "f" : "e";
    if (std::strcmp(view.format, format) != 0 || view.ndim != int(dims.rank()) ||
        !std::equal(dims.begin(), dims.end(), view.shape)) {
      raise(Error(Code::invalid_argument, "out must be a contiguous " + std::string(name_of(type)) +
                                              " array of shape " + dims.to_string()));
    }
  }
  std::byte* data() const { return static_cast<std::byte*>(memory_.view().buf); }
  std::size_t size() const { return std::size_t(memory_.view().len); }

 private:
  BorrowedBytes memory_;
};

template <class T>
T named(const std::map<std::string_view, T>& names, std::string_view name, const char* argument) {
  if (const auto found = names.find(name); found != names.end()) return found->second;
  std::string known;
  for (const auto& [each, value] : names) known += (known.empty() ? "" : ", ") + std::string(each);
  raise(Error(Code::invalid_argument,
              std::string(argument) + " must be one of " + known + ", not " + std::string(name)));
}

}  // namespace penstock::bindings
