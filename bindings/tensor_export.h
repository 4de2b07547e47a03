// How a Tensor reaches array libraries from Python: buffer protocol, __array__, DLPack capsules.
#pragma once

#include <nanobind/nanobind.h>

#include "penstock/tensor.h"

namespace penstock::bindings {

PyType_Slot* buffer_slots();  // for nb::type_slots of the Tensor class

nanobind::object to_numpy(nanobind::handle tensor, nanobind::object dtype, nanobind::object copy);

nanobind::object to_capsule(const Tensor& tensor, nanobind::object stream,
                            nanobind::object max_version, nanobind::object dl_device,
                            nanobind::object copy);

}  // namespace penstock::bindings
