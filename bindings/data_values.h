// Samples between C++ and Python: values, rows, columns. With the GIL held.
#pragma once

#include <nanobind/nanobind.h>

#include "data/batch.h"
#include "data/row.h"

namespace penstock::bindings {

// Raw bytes become read-only memoryviews, arrays NumPy arrays on the same memory. Throws
// nb::python_error.
nanobind::object to_python(const data::Value& value);
nanobind::dict to_python(const data::Row& row);

// What is bytes-like keeps its bytes, numbers and arrays of numbers become native, the rest stays
// an object. The same memory, kept alive by the value.
data::Value to_value(nanobind::handle object);

void bind_byte_view(nanobind::module_& m);

// A sample of the user's: a dict, or anything else as {"data": anything}.
data::Row to_row(nanobind::handle sample);

// A column as a batch has it: a Tensor, a list, or a pair of Tensors (values, offsets). Its memory
// is the user's from now on.
nanobind::object to_python(data::Column& column);

// An array of the user's as a Tensor on the same memory, which is not written to; nothing if it is
// not an array of numbers.
std::optional<Tensor> to_tensor(nanobind::handle object);

}  // namespace penstock::bindings
