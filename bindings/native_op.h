// An op that pipelines run on native workers: a step function in a Python object, which can also be
// called alone. Other files of bindings/ make them; penstock.pipeline recognises them by their
// type.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "penstock/stage.h"

namespace penstock::bindings {

struct NativeOp {
  std::string name;
  StepFunction step;
  // Takes Tensors; other arrays have to be made into some first, under the GIL (see as_tensor).
  bool takes_tensors = false;
  // The same for one item, called from Python. `position` is the item's place among all, which is
  // what random numbers depend on; `out` is an array to write into, or None.
  std::function<nanobind::object(nanobind::handle item, std::optional<std::uint64_t> position,
                                 nanobind::object out)>
      alone;
};

}  // namespace penstock::bindings
