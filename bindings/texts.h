// Text of files, as Python has it: bytes that are no UTF-8 are kept, the way os.fsdecode keeps
// them.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

namespace penstock::bindings {

inline nanobind::object text_of(std::string_view text) {
  PyObject* made =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  if (made == nullptr) throw nanobind::python_error();
  return nanobind::steal(made);
}

}  // namespace penstock::bindings
