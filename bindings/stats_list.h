// What an engine measured, as plain values: a dict for each stage in the order of the flow, and one
// for the sink.
#pragma once

#include <nanobind/nanobind.h>

#include "py_engine.h"

namespace penstock::bindings {

// `memory_wait`: of a loader, see DataRun.
nanobind::list stats_list(const PyEngine& engine, const PipelineStats& stats,
                          double memory_wait = 0);

}  // namespace penstock::bindings
