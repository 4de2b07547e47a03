// Step functions that call Python. They expect the GIL to be held: the lane they run on
// (caller_lane.h) takes it.
#pragma once

#include <nanobind/nanobind.h>

#include "penstock/stage.h"

namespace penstock::bindings {

// Items of an iterable. With `continuous` it is iterated again and again, an epoch each time.
StepFunction iterate(nanobind::object iterable, bool continuous);

// op(item): None drops the item. With `fatal` an exception ends the pipeline.
StepFunction call(nanobind::object op, bool fatal = false);

// The items that the generator op(item) yields; a None among them is passed over.
StepFunction generate(nanobind::object op);

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
Aggregation aggregate_with(nanobind::object aggregator, bool drop_last);

// router(item) says which of `paths` the item takes.
StepFunction choose_path(nanobind::object router, int paths);

}  // namespace penstock::bindings
