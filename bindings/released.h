// Letting go of the GIL around work that needs no Python, and holding it around calls of Python.
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

// Whatever `call` returns. Everything that may ask for the GIL again, user's functions above all,
// is called like this wherever frames above have destructors that need Python.
template <class Call>
auto or_wait(const Call& call) {
  try {
    return call();
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
}

class Released {
 public:
  Released() noexcept : state_(PyEval_SaveThread()) {}
  ~Released() {
    or_wait([this] { PyEval_RestoreThread(state_); });
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* state_;
};

// The GIL, in a thread that may have it already. Calls of Python under it go through or_wait.
class Held {
 public:
  Held() noexcept : state_(or_wait([] { return PyGILState_Ensure(); })) {}
  ~Held() { PyGILState_Release(state_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace penstock::bindings
