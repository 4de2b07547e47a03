// Checks on image views that the transforms share. Each answers with an Error naming the argument.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "penstock/error.h"
#include "penstock/image.h"

namespace penstock {

// "640 x 480 pixels"
std::string size_text(std::int64_t width, std::int64_t height);

// The view has pixels, a positive size and 1 to 4 channels.
Status check_view(const char* name, const ConstImageView& view);

// out is width x height with that many channels.
Status check_out(const ImageView& out, std::int64_t width, std::int64_t height, int channels);

Status check_same_shape(const ConstImageView& source, const ImageView& out);

}  // namespace penstock
