// Letting go of the GIL around work that needs no Python.
//
// A daemon thread may still be at work when the interpreter ends. CPython before 3.14 ends such a
// thread where it asks for the GIL again, by unwinding its stack; frames that may not throw stand
// in the way, and the process would abort. As in 3.14 the thread waits there for the end of the
// process instead.
#pragma once

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

namespace penstock::bindings {

class Released {
 public:
  Released() noexcept : state_(PyEval_SaveThread()) {}
  ~Released() {
    try {
      PyEval_RestoreThread(state_);
    } catch (abi::__forced_unwind&) {
      for (;;) pause();
    }
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace penstock::bindings
