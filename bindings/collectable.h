// Type slots for classes that hold on to user functions. Ops often are methods of the object that
// holds the pipeline: a cycle that only the garbage collector can free, if it is shown the way.
//
// T has kept(), the Python objects it holds (as Kept), and forget(), which lets go of them.
#pragma once

#include <nanobind/nanobind.h>

#include "python_steps.h"

namespace penstock::bindings {

template <class T>
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nanobind::inst_ready(self)) return 0;
  for (const Kept& object : nanobind::inst_ptr<T>(self)->kept()) Py_VISIT(object->get());
  return 0;
}

template <class T>
int clear(PyObject* self) {
  nanobind::inst_ptr<T>(self)->forget();
  return 0;
}

template <class T>
inline PyType_Slot collectable[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse<T>)},
    {Py_tp_clear, reinterpret_cast<void*>(clear<T>)},
    {0, nullptr},
};

}  // namespace penstock::bindings
