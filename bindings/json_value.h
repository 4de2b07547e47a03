// JSON as Python objects: those that json.loads makes.
#pragma once

#include <nanobind/nanobind.h>

#include "data/json.h"

namespace penstock::bindings {

nanobind::object to_python(const data::Json& json);

}  // namespace penstock::bindings
