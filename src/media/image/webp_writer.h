// Writing WebP files.
//
// Thread safety: pure.
#pragma once

#include "penstock/error.h"
#include "penstock/image.h"
#include "penstock/media.h"

namespace penstock::media {

// 1 (grey), 3 (RGB) or 4 (RGBA) channels; the sides and the options have been checked.
Result<std::vector<std::byte>> write_webp(ConstImageView image, const EncodeOptions& options);

}  // namespace penstock::media
