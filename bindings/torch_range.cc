#include "torch_range.h"

namespace penstock::bindings {

TorchRange::TorchRange() noexcept {
  // Borrowed, and cheap: most programs have no torch, or no profiler.
  if (PyDict_GetItemString(PyImport_GetModuleDict(), "torch") == nullptr) return;
  PyObject* module = PyImport_ImportModule("penstock._torch_range");
  if (module != nullptr) {
    range_ = PyObject_CallMethod(module, "begin", nullptr);
    Py_DECREF(module);
  }
  if (range_ == Py_None) Py_CLEAR(range_);
  if (range_ == nullptr) PyErr_Clear();
}

TorchRange::~TorchRange() {
  if (range_ == nullptr) return;
  PyObject* done = PyObject_CallMethod(range_, "__exit__", "OOO", Py_None, Py_None, Py_None);
  if (done == nullptr) PyErr_Clear();
  Py_XDECREF(done);
  Py_DECREF(range_);
}

}  // namespace penstock::bindings
