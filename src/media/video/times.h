// The times at which frames are shown, where those of the file may begin anew.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <vector>

#include "media/video/index.h"

namespace penstock::media {

// Of each frame, sorted, in ticks; all frames have times. Parts of streams that were put one behind
// the other follow one another: a part whose times go back begins a frame after the one before it.
std::vector<std::int64_t> shown_times(const FrameIndex& index, const av::StreamInfo& stream);

}  // namespace penstock::media
