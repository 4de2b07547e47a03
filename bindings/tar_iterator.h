// Tars from front to back, in Python.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::bindings {

void bind_tar_iterator(nanobind::module_& m);

}  // namespace penstock::bindings
