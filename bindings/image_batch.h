// Many images at once, for image.cc.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::bindings {

void bind_image_batch(nanobind::module_& m);

}  // namespace penstock::bindings
