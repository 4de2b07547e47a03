// How arrays of Python become Tensors.
#pragma once

#include <nanobind/nanobind.h>

#include "penstock/item.h"
#include "penstock/tensor.h"

namespace penstock::bindings {

// A Tensor itself, or a view of the memory of anything that NumPy can make an array of. Under the
// GIL; the view may be dropped anywhere.
Tensor tensor_of(nanobind::handle object);

// The Tensor in an item, be it native or a Python object; null for other items. Without the GIL.
const Tensor* tensor_in(const Item& item) noexcept;

void bind_tensor_import(nanobind::module_& m);

}  // namespace penstock::bindings
