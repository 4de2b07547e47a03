// What each file in bindings/ offers to module.cc: one function that adds a room's names.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::bindings {

// void bind_<room>(nanobind::module_& m);  defined in <room>.cc, called in module.cc
void bind_audio(nanobind::module_& m);
void bind_core(nanobind::module_& m);
void bind_data(nanobind::module_& m);
void bind_data_media(nanobind::module_& m);
void bind_formats(nanobind::module_& m);
void bind_image(nanobind::module_& m);
void bind_npy(nanobind::module_& m);
void bind_pipeline(nanobind::module_& m);
void bind_sound_ops(nanobind::module_& m);
void bind_storage(nanobind::module_& m);
void bind_tfrecord(nanobind::module_& m);
void bind_trace(nanobind::module_& m);
void bind_transform(nanobind::module_& m);
void bind_video(nanobind::module_& m);

}  // namespace penstock::bindings
