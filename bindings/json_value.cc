#include "json_value.h"

#include <string>
#include <vector>

namespace nb = nanobind;

namespace penstock::bindings {
namespace {

nb::object checked(PyObject* stolen) {
  if (stolen == nullptr) throw nb::python_error();
  return nb::steal(stolen);
}

nb::object text_of(std::string_view text) {
  return checked(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

class Maker final : public data::Json::Visitor {
 public:
  void null() override { put(nb::none()); }
  void boolean(bool value) override { put(nb::bool_(value)); }
  void number(std::int64_t value) override { put(checked(PyLong_FromLongLong(value))); }
  void number(std::uint64_t value) override { put(checked(PyLong_FromUnsignedLongLong(value))); }
  void number(double value) override { put(checked(PyFloat_FromDouble(value))); }
  void other_number(std::string_view text) override {
    if (text.find_first_of(".eENI") == text.npos) {
      put(checked(PyLong_FromString(std::string(text).c_str(), nullptr, 10)));
    } else {
      put(checked(PyFloat_FromString(text_of(text).ptr())));
    }
  }
  void text(std::string_view value) override { put(text_of(value)); }
  void list(std::size_t) override { open_.push_back({checked(PyList_New(0)), {}}); }
  void object() override { open_.push_back({checked(PyDict_New()), {}}); }
  void key(std::string_view name) override { open_.back().key = text_of(name); }
  void end() override {
    nb::object done = std::move(open_.back().container);
    open_.pop_back();
    put(std::move(done));
  }

  nb::object made;

 private:
  struct Open {
    nb::object container, key;
  };

  void put(nb::object value) {
    if (open_.empty()) {
      made = std::move(value);
      return;
    }
    PyObject* container = open_.back().container.ptr();
    const int status = open_.back().key.is_valid()
                           ? PyDict_SetItem(container, open_.back().key.ptr(), value.ptr())
                           : PyList_Append(container, value.ptr());
    if (status != 0) throw nb::python_error();
  }

  std::vector<Open> open_;
};

}  // namespace

nb::object to_python(const data::Json& json) {
  Maker maker;
  json.visit(maker);
  return std::move(maker.made);
}

}  // namespace penstock::bindings
