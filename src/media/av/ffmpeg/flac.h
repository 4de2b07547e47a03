// Samples as a FLAC file, by FFmpeg's encoder; the contract is that of Library::encode_flac.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "penstock/error.h"

namespace penstock::media::av {

Result<std::vector<std::byte>> flac_of(std::span<const std::int32_t> samples, int channels,
                                       int sample_rate, int bits);

}  // namespace penstock::media::av
