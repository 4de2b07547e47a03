#include "python_value.h"

#include <memory>
#include <string>

#include "penstock/tensor.h"

namespace nb = nanobind;

namespace penstock::bindings {

bool python_is_ending() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return !Py_IsInitialized() || Py_IsFinalizing();
#else
  return !Py_IsInitialized() || _Py_IsFinalizing();
#endif
}

void PyValue::drop(PyObject* object) noexcept {
  if (object == nullptr) return;
  if (PyGILState_Check()) {
    Py_DECREF(object);
  } else if (!python_is_ending()) {  // otherwise the process is about to free everything anyway
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(object);
    PyGILState_Release(state);
  }
}

Item item_of(PyObject* stolen) {
  return Item::of(PyValue(stolen));
}

PyObject* to_python(Item& item) {
  if (PyValue* value = item.get<PyValue>()) {
    PyObject* object = value->release();
    item.reset();
    return object;
  }
  if (Tensor* tensor = item.get<Tensor>()) {
    try {
      return nb::cast(std::move(*tensor)).release().ptr();
    } catch (nb::python_error& error) {
      error.restore();
      return nullptr;
    }
  }
  PyErr_Format(PyExc_TypeError, "a native value of type %s has no Python form", item.type_name());
  return nullptr;
}

Error error_of_exception(PyObject* stolen_exception, PyObject* input) {
  auto failure = std::make_shared<PythonFailure>();
  failure->exception = PyValue(stolen_exception);
  failure->input = PyValue::borrow(input);
  std::string type = Py_TYPE(stolen_exception)->tp_name;
  return Error(Code::failed, std::move(type)).attach(std::move(failure));
}

const PythonFailure* python_failure_of(const Error& error) {
  return static_cast<const PythonFailure*>(error.attached().get());
}

Step python_failure(Context& ctx, PyObject* input, bool fatal) {
#if PY_VERSION_HEX >= 0x030C0000
  PyObject* exception = PyErr_GetRaisedException();
#else
  PyObject *type, *exception, *traceback;
  PyErr_Fetch(&type, &exception, &traceback);
  PyErr_NormalizeException(&type, &exception, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(exception, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
#endif
  fatal |= !PyObject_IsInstance(exception, PyExc_Exception);
  return ctx.fail(error_of_exception(exception, input), fatal);
}

}  // namespace penstock::bindings
