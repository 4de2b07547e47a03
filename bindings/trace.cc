// Traces: see penstock/trace.h.
#include "penstock/trace.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "errors.h"
#include "released.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {

void bind_trace(nb::module_& m) {
  m.def(
      "start_trace", [](std::size_t slices) { must(start_trace(slices)); }, "slices"_a,
      "Records the last slices of each thread.");
  m.def(
      "write_trace",
      [](const std::string& path) {
        Status written;
        {
          const Released released;
          written = write_trace(path);
        }
        must(std::move(written));
      },
      "path"_a, "Ends the trace and writes it.");
  m.def("drop_trace", &drop_trace, "Ends the trace, if there is one.");
}

}  // namespace penstock::bindings
