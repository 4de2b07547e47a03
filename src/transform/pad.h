// Padding an image on its four sides.
//
// Thread safety: pure functions over the caller's pixels.
#pragma once

#include <array>
#include <cstdint>

#include "penstock/error.h"
#include "penstock/image.h"

namespace penstock {

enum class PadMode : std::uint8_t {
  constant,  // with `fill`
  edge,      // with the nearest pixel of the image
  reflect,   // mirrored around the edge pixel, which is not repeated (NumPy's "reflect")
};

struct PadSpec {
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::int64_t right = 0;
  std::int64_t bottom = 0;
  PadMode mode = PadMode::constant;
  std::array<std::uint8_t, 4> fill = {0, 0, 0, 0};  // per channel
};

// `out` is the padded size and may not overlap `source`. Error: a side is negative, or in reflect
// mode not smaller than the image.
Status pad(ConstImageView source, const PadSpec& spec, ImageView out);

}  // namespace penstock
