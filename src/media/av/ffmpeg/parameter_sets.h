// Parameter sets inside packets, and packets that are given some.
#pragma once

#include <vector>

#include "media/av/av.h"
#include "media/av/ffmpeg/headers.h"

namespace penstock::media::av {

// As Input::parameter_sets. `blank`: the packet's bytes are none.
bool read_parameter_sets(const AVPacket& packet, const AVCodecParameters& stream, bool blank,
                         std::vector<ParameterSet>& sets);

// May pictures of H.264 be missing from the stream, as its header says? Those of upper temporal
// layers, which somebody has left out.
bool may_lack_pictures(const AVCodecParameters& stream);

// A copy of the packet, with all that is to hold when it is decoded. Null: there is no memory.
PacketPtr with_parameter_sets(const AVPacket& packet, const AVCodecParameters& stream,
                              const std::vector<ParameterSet>& sets);

}  // namespace penstock::media::av
