#include "python_value.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

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

bool holds_gil() noexcept {
  // Late in its end the interpreter knows no threads any more, and answers the second with yes.
  return PyGILState_GetThisThreadState() != nullptr && PyGILState_Check() != 0;
}

namespace {
std::mutex put_aside_lock;
std::vector<PyObject*> put_aside;
std::atomic<bool> any_put_aside{false};
}  // namespace

void PyValue::drop(PyObject* object) noexcept {
  if (object == nullptr) return;
  if (holds_gil()) {
    Py_DECREF(object);
    return;
  }
  if (python_is_ending()) return;  // the process is about to free everything anyway
  std::lock_guard hold(put_aside_lock);
  put_aside.push_back(object);
  any_put_aside.store(true, std::memory_order_release);
}

void release_put_aside() {
  if (!any_put_aside.load(std::memory_order_acquire)) return;
  std::vector<PyObject*> objects;
  {
    std::lock_guard hold(put_aside_lock);
    objects.swap(put_aside);
    any_put_aside.store(false, std::memory_order_release);
  }
  for (PyObject* object : objects) Py_DECREF(object);
}

std::optional<std::span<const std::byte>> bytes_of(const Item& item) noexcept {
  const PyValue* value = item.get<PyValue>();
  if (value == nullptr || !PyBytes_Check(value->get())) return std::nullopt;
  PyObject* bytes = value->get();
  return std::span(reinterpret_cast<const std::byte*>(PyBytes_AS_STRING(bytes)),
                   static_cast<std::size_t>(PyBytes_GET_SIZE(bytes)));
}

Item item_of(PyObject* stolen) {
  return Item::of(PyValue(stolen));
}

PyObject* to_python(Item& item) {
  if (PyValue* value = item.get_if_is<PyValue>()) {
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

PyObject* pending_exception() {
#if PY_VERSION_HEX >= 0x030C0000
  return PyErr_GetRaisedException();
#else
  PyObject *type, *exception, *traceback;
  PyErr_Fetch(&type, &exception, &traceback);
  PyErr_NormalizeException(&type, &exception, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(exception, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return exception;
#endif
}

Step python_failure(Context& ctx, PyObject* input, bool fatal) {
  PyObject* exception = pending_exception();
  fatal |= !PyObject_IsInstance(exception, PyExc_Exception);
  return ctx.fail(error_of_exception(exception, input), fatal);
}

}  // namespace penstock::bindings
