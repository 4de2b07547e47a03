// The inner loops of the finishing pass, compiled for every instruction set and chosen at run time.
//
// Thread safety: pure functions over the caller's memory.
#pragma once

#include <cstdint>

#include "transform/finish.h"

namespace penstock {

// Converts `pixels` pixels and writes them from column x of row y on. Does not mirror.
void finish_pixels(const FinishSpec& spec, const std::uint8_t* from, std::int64_t y, std::int64_t x,
                   std::int64_t pixels, void* image);

// The same pixels in reverse order; `to` may not overlap `from`.
void mirror_pixels(const std::uint8_t* from, std::int64_t pixels, int channels, std::uint8_t* to);

}  // namespace penstock
