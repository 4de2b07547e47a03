// Step functions that call Python. They expect the GIL to be held: the lane they run on
// (caller_lane.h) takes it.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "penstock/stage.h"
#include "python_value.h"

namespace penstock::bindings {

// A Python object that step functions keep. Shared, because step functions are copied; those who
// look for cycles of references can see it.
using Kept = std::shared_ptr<PyValue>;
Kept keep(nanobind::object object);

// What the user's function that this thread is in was called with; null outside of one, and for
// sources. Written and read with the GIL held.
PyObject*& input_in_progress() noexcept;

// Items of an iterable. With `continuous` it is iterated again and again, an epoch each time.
StepFunction iterate(Kept iterable, bool continuous);

// op(item): None drops the item. With `fatal` an exception ends the pipeline.
StepFunction call(Kept op, bool fatal = false);

// The items that the generator op(item) yields; a None among them is passed over.
StepFunction generate(Kept op);

// The elements of each item.
StepFunction take_apart();

// Lists of n items. The two functions share the list under way; `flush` hands out the rest.
struct Aggregation {
  StepFunction step;
  StepFunction flush;
};
Aggregation collect(Py_ssize_t n, bool drop_last);

// An aggregator of the user's: accumulate(item) and flush() return a result or None. An exception
// in either ends the pipeline: the state of an aggregator that failed cannot be trusted.
Aggregation aggregate_with(Kept aggregator, bool drop_last);

// router(item) says which of `paths` the item takes.
StepFunction choose_path(Kept router, int paths);

}  // namespace penstock::bindings
