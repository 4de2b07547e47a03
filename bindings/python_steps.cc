#include "python_steps.h"

#include <memory>
#include <utility>

namespace nb = nanobind;

namespace penstock::bindings {

namespace {

// Notes what a user's function is called with, for as long as it runs.
class InProgress {
 public:
  explicit InProgress(PyObject* input) noexcept { input_in_progress() = input; }
  ~InProgress() { input_in_progress() = nullptr; }
};

// What a call returned: an output, nothing for None, or the exception.
Step answer(Context& ctx, PyObject* result, PyObject* input, Step next = Step::done,
            bool fatal = false) {
  if (result == nullptr) return python_failure(ctx, input, fatal);
  if (result == Py_None) {
    Py_DECREF(result);
  } else {
    ctx.emit(item_of(result));
  }
  return next;
}

// One more element of an iterator: again until it ends.
Step advance(Context& ctx, PyObject* iterator, PyObject* input) {
  PyObject* element = Py_TYPE(iterator)->tp_iternext(iterator);
  if (element != nullptr) return answer(ctx, element, input, Step::again);
  if (PyErr_Occurred() == nullptr) return Step::done;
  if (!PyErr_ExceptionMatches(PyExc_StopIteration)) return python_failure(ctx, input);
  PyErr_Clear();
  return Step::done;
}

// A stream under way: the iterator and the item it came from. Stays in the task's item.
struct Stream {
  PyValue iterator;
  PyValue input;
};

// Steps through open(input), an iterator made on the first step.
template <class Open>
StepFunction stream(Open open) {
  return [open = std::move(open)](Context& ctx) {
    if (!ctx.item().is<Stream>()) {
      PyValue input(to_python(ctx.item()));
      if (input.get() == nullptr) return python_failure(ctx, nullptr);
      PyValue iterator(open(input.get()));
      if (iterator.get() == nullptr) return python_failure(ctx, input.get());
      ctx.item() = Item::of(Stream{std::move(iterator), std::move(input)});
    }
    const Stream* stream = ctx.item().get<Stream>();
    const InProgress noted(stream->input.get());
    return advance(ctx, stream->iterator.get(), stream->input.get());
  };
}

}  // namespace

PyObject*& input_in_progress() noexcept {
  thread_local PyObject* input = nullptr;
  return input;
}

Kept keep(nb::object object) {
  return std::make_shared<PyValue>(object.release().ptr());
}

StepFunction iterate(Kept source, bool continuous) {
  auto iterator = std::make_shared<PyValue>();
  return [source, iterator, continuous](Context& ctx) {
    if (iterator->get() == nullptr) {
      *iterator = PyValue(PyObject_GetIter(source->get()));
      if (iterator->get() == nullptr) return python_failure(ctx, nullptr);
    }
    PyObject* element = Py_TYPE(iterator->get())->tp_iternext(iterator->get());
    if (element != nullptr) {
      ctx.emit(item_of(element));  // a source may yield None: it is passed on
      return Step::again;
    }
    if (PyErr_Occurred() != nullptr) {
      if (!PyErr_ExceptionMatches(PyExc_StopIteration)) return python_failure(ctx, nullptr);
      PyErr_Clear();
    }
    *iterator = PyValue();
    if (!continuous) return Step::done;
    ctx.end_epoch();
    return Step::again;
  };
}

StepFunction call(Kept op, bool fatal) {
  return [op = std::move(op), fatal](Context& ctx) {
    PyValue input(to_python(ctx.item()));
    if (input.get() == nullptr) return python_failure(ctx, nullptr);
    const InProgress noted(input.get());
    PyObject* result = PyObject_CallOneArg(op->get(), input.get());
    return answer(ctx, result, input.get(), Step::done, fatal);
  };
}

StepFunction generate(Kept op) {
  return stream([op = std::move(op)](PyObject* input) -> PyObject* {
    PyValue generator(PyObject_CallOneArg(op->get(), input));
    if (generator.get() == nullptr) return nullptr;
    return PyObject_GetIter(generator.get());
  });
}

StepFunction take_apart() {
  return stream([](PyObject* input) { return PyObject_GetIter(input); });
}

Aggregation collect(Py_ssize_t n, bool drop_last) {
  auto list = std::make_shared<PyValue>();
  const StepFunction step = [list, n](Context& ctx) {
    PyValue input(to_python(ctx.item()));
    if (input.get() == nullptr) return python_failure(ctx, nullptr);
    if (list->get() == nullptr) *list = PyValue(PyList_New(0));
    if (list->get() == nullptr || PyList_Append(list->get(), input.get()) < 0) {
      return python_failure(ctx, input.get(), true);
    }
    if (PyList_GET_SIZE(list->get()) >= n) ctx.emit(Item::of(std::exchange(*list, PyValue())));
    return Step::done;
  };
  const StepFunction flush = [list, drop_last](Context& ctx) {
    if (drop_last) *list = PyValue();
    if (list->get() != nullptr) ctx.emit(Item::of(std::exchange(*list, PyValue())));
    return Step::done;
  };
  return {step, flush};
}

Aggregation aggregate_with(Kept aggregator, bool drop_last) {
  const auto call = [](const Kept& object, const char* method, PyObject* input) {
    PyValue name(PyUnicode_InternFromString(method));
    return input == nullptr ? PyObject_CallMethodNoArgs(object->get(), name.get())
                            : PyObject_CallMethodOneArg(object->get(), name.get(), input);
  };
  return {[aggregator, call](Context& ctx) {
            PyValue input(to_python(ctx.item()));
            if (input.get() == nullptr) return python_failure(ctx, nullptr);
            const InProgress noted(input.get());
            PyObject* result = call(aggregator, "accumulate", input.get());
            return answer(ctx, result, input.get(), Step::done, true);
          },
          [aggregator, call, drop_last](Context& ctx) {
            PyObject* result = call(aggregator, "flush", nullptr);
            if (result != nullptr && drop_last) {  // called all the same: it resets the state
              Py_DECREF(result);
              return Step::done;
            }
            return answer(ctx, result, nullptr, Step::done, true);
          }};
}

StepFunction choose_path(Kept router, int paths) {
  return [router = std::move(router), paths](Context& ctx) {
    PyValue input(to_python(ctx.item()));
    if (input.get() == nullptr) return python_failure(ctx, nullptr);
    const InProgress noted(input.get());
    PyValue answer(PyObject_CallOneArg(router->get(), input.get()));
    if (answer.get() == nullptr) return python_failure(ctx, input.get(), true);
    const long path = PyLong_AsLong(answer.get());
    if (path == -1 && PyErr_Occurred() != nullptr) return python_failure(ctx, input.get(), true);
    if (path < 0 || path >= paths) {
      PyErr_Format(PyExc_IndexError,
                   "Router returned index %ld, but there are only %d paths (valid range: [0, %d)).",
                   path, paths, paths);
      return python_failure(ctx, input.get(), true);
    }
    ctx.emit(Item::of(std::move(input)), static_cast<int>(path));
    return Step::done;
  };
}

}  // namespace penstock::bindings
