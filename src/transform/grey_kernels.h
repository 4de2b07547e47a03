// The inner loops of colour and enhancement, compiled for every instruction set and chosen at run
// time.
//
// Thread safety: pure functions over the caller's memory.
#pragma once

#include <cstdint>

namespace penstock {

// The grey of RGB (3) or RGBA (4) pixels; see luma(). The rows may not overlap.
void grey_pixels(const std::uint8_t* from, std::int64_t pixels, int channels, std::uint8_t* to);

// The same with as many channels as there were: the grey three times, and alpha as it was.
void spread_grey(const std::uint8_t* from, std::int64_t pixels, int channels, std::uint8_t* to);

// In place: degenerate + factor * (value - degenerate) in single precision, clipped, then cut to a
// whole number; for a degenerate value each, or one for all.
void blend_values(const std::uint8_t* degenerate, std::int64_t count, float factor,
                  std::uint8_t* values);
void blend_values(std::uint8_t degenerate, std::int64_t count, float factor, std::uint8_t* values);

}  // namespace penstock
