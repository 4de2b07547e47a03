// GIF's LZW.
//
// Thread safety: pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "penstock/error.h"

namespace penstock::media {

// `data` is the smallest code size, then blocks of up to 255 bytes each led by its length, ended by
// an empty one. Writes at most `size` indices and answers how many there were; fewer when the data
// ends early. A code that cannot be is an Error.
Result<std::size_t> lzw_decode_gif(std::span<const std::uint8_t> data, std::uint8_t* to,
                                   std::size_t size);

}  // namespace penstock::media
