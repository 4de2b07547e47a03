// An op that pipelines run on native workers: a step function in a Python object, which can also be
// called alone. Other files of bindings/ make them; penstock.pipeline recognises them by their
// type.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "penstock/random.h"
#include "penstock/stage.h"
#include "penstock/tensor.h"

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
  // The same on a row of a dataset; empty: not an op on arrays.
  std::function<Result<Tensor>(const Tensor& array, RandomStream random)> on_array;
  bool random = false;  // does it draw?
};

}  // namespace penstock::bindings
