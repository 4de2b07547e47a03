// Python objects inside the engine: as items, and as what an Error carries.
//
// The engine moves and destroys items on threads that know nothing of Python. A reference that
// dies there is put aside and released by the next thread that enters Python anyway: native
// workers never wait for the GIL. None is released under an engine lock: the engine hands out what
// it discards first.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "penstock/error.h"
#include "penstock/item.h"
#include "penstock/stage.h"

namespace penstock::bindings {

class PyValue {
 public:
  PyValue() = default;
  explicit PyValue(PyObject* stolen) noexcept : object_(stolen) {}
  PyValue(PyValue&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  PyValue& operator=(PyValue&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~PyValue() { drop(object_); }

  static PyValue borrow(PyObject* object) noexcept {
    Py_XINCREF(object);
    return PyValue(object);
  }

  PyObject* get() const noexcept { return object_; }
  PyObject* release() noexcept { return std::exchange(object_, nullptr); }

 private:
  static void drop(PyObject* object) noexcept;
  PyObject* object_ = nullptr;
};

// Releases what was put aside. With the GIL; cheap when there is nothing.
void release_put_aside();

// True while the interpreter is going down: Python must not be entered any more.
bool python_is_ending() noexcept;

// Does this thread hold the GIL? No, if the interpreter has taken it away to end.
bool holds_gil() noexcept;

// An item that holds a Python object; steals the reference.
Item item_of(PyObject* stolen);

// The item as a Python object (a new reference): the one it holds, or a native value converted.
// Null with a Python exception set if there is no conversion. Leaves the item empty.
PyObject* to_python(Item& item);

// The memory of an item that holds a bytes object, without a copy and without the GIL: bytes never
// change, and the item keeps them alive. Nothing for other items.
std::optional<std::span<const std::byte>> bytes_of(const Item& item) noexcept;

// What a failed Python call leaves behind, attached to its Error.
struct PythonFailure {
  PyValue exception;
  PyValue input;  // the item it failed on; may be empty
};

// The pending Python exception, taken away: a new reference.
PyObject* pending_exception();

// The pending Python exception as the task's failure. Anything but an Exception is fatal: it was
// meant to end the program.
Step python_failure(Context& ctx, PyObject* input, bool fatal = false);
const PythonFailure* python_failure_of(const Error& error);
Error error_of_exception(PyObject* stolen_exception, PyObject* input);

}  // namespace penstock::bindings
