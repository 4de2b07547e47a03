// penstock._core: the extension module. Each room binds its own names in bindings/<room>.cc.
#include <nanobind/nanobind.h>

#include <cstdlib>

#include "bindings.h"

namespace nb = nanobind;

namespace {

#if defined(__clang__)
constexpr const char* compiler = "Clang " __clang_version__;
#else
constexpr const char* compiler = "GCC " __VERSION__;
#endif

nb::dict build_info() {
  nb::dict info;
  info["compiler"] = compiler;
#ifdef NDEBUG
  info["assertions"] = false;
#else
  info["assertions"] = true;
#endif
  return info;
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The native part of Penstock.";
  // A thread of the user's that is still at work when the interpreter ends keeps what it uses: that
  // is no leak of ours, and nothing to bother anybody with. Our tests want to know.
  nb::set_leak_warnings(std::getenv("PENSTOCK_LEAK_WARNINGS") != nullptr);
  m.def(
      "version", [] { return PENSTOCK_VERSION; }, "The version of Penstock.");
  m.def("build_info", &build_info, nb::sig("def build_info() -> dict[str, str | bool]"),
        "How this module was built: compiler, assertions.");
  penstock::bindings::bind_core(m);
  penstock::bindings::bind_pipeline(m);
  penstock::bindings::bind_transform(m);
  penstock::bindings::bind_sound_ops(m);
  penstock::bindings::bind_image(m);
  penstock::bindings::bind_video(m);
  penstock::bindings::bind_audio(m);
  penstock::bindings::bind_formats(m);
  penstock::bindings::bind_storage(m);
  penstock::bindings::bind_tfrecord(m);
  penstock::bindings::bind_npy(m);
  penstock::bindings::bind_data(m);
  penstock::bindings::bind_data_media(m);
  penstock::bindings::bind_trace(m);
}
