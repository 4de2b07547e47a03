// Writing PNG files.
//
// Thread safety: pure.
#pragma once

#include "penstock/error.h"
#include "penstock/image.h"
#include "penstock/media.h"

namespace penstock::media {

// 1 to 4 channels of 8 bits; the sides and the options have been checked.
Result<std::vector<std::byte>> write_png(ConstImageView image, const EncodeOptions& options);

}  // namespace penstock::media
