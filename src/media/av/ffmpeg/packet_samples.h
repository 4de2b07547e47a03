// How many samples packets hold, as they say themselves: what a container says may have been
// shortened by its edit list, or be rounded.
#pragma once

#include <cstdint>
#include <optional>

#include "media/av/ffmpeg/flac_header.h"
#include "media/av/ffmpeg/headers.h"

namespace penstock::media::av {

// Is each packet decoded without others, and does said_samples know of each?
bool stands_alone(const AVCodecParameters& is);
// How many samples the packet decodes to; 0: it does not say.
std::int64_t said_samples(const AVPacket& packet, AVCodecParameters& is);
// Of a FLAC packet: the header that it begins with.
std::optional<FlacFrame> flac_frame_of(const AVPacket& packet, const AVCodecParameters& is);

}  // namespace penstock::media::av
