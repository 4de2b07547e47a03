// What an H.264 packet that the container calls a key frame is to a decoder.
#pragma once

#include <cstdint>
#include <span>

#include "media/av/av.h"

namespace penstock::media::av {

// `extradata` tells how NAL units are divided.
Start h264_start(std::span<const std::uint8_t> packet, std::span<const std::uint8_t> extradata);

}  // namespace penstock::media::av
