// Orders and sources of datasets, in Python.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "data/order.h"

namespace penstock::bindings {

void bind_order(nanobind::module_& m);

// The position itself; raises IndexError if it is beyond the end.
std::uint64_t checked_position(const data::Order& order, std::uint64_t position);

}  // namespace penstock::bindings
