// Multiplying colours by alpha and back, as Pillow's conversions RGBA <-> RGBa and LA <-> La do.
//
// Thread safety: pure functions; `from` and `to` may be the same row.
#pragma once

#include <cstdint>

namespace penstock {

// `channels` is 2 or 4, alpha last.
void premultiply(const std::uint8_t* from, std::int64_t pixels, int channels, std::uint8_t* to);
void unpremultiply(const std::uint8_t* from, std::int64_t pixels, int channels, std::uint8_t* to);

}  // namespace penstock
