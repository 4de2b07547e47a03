// One row of pixels from the channels a file has to the channels somebody wants, as Pillow's
// Image.convert does it.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "penstock/media.h"

namespace penstock::media {

// What a decoder produces. 16-bit samples are in native byte order.
enum class Native : std::uint8_t { l, la, rgb, rgba, cmyk, bgr, l16, la16, rgb16, rgba16, cmyk16 };

int channels_of(Native native) noexcept;
int bits_of(Native native) noexcept;

// True if the last channel of `mode`, made from `native`, is alpha.
bool has_alpha(Native native, PixelMode mode) noexcept;

// True if rows of `native` are rows of `mode` already.
bool same_pixels(Native native, PixelMode mode) noexcept;

// 16 bits to 8: the high byte, but single grey is clipped at 255 (Pillow's I;16). `to` may be
// `from`.
Native reduce_to_8_bits(const std::uint8_t* from, Native native, std::int64_t width,
                        std::uint8_t* to) noexcept;

// `native` is an 8-bit one and `mode` is not unchanged or index. The rows may not overlap.
void convert_row(const std::uint8_t* from, Native native, std::int64_t width, PixelMode mode,
                 std::uint8_t* to) noexcept;

}  // namespace penstock::media
