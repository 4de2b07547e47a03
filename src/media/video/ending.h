// Videos that end before they say they do. FFmpeg takes the end of the file for that of the video.
//
// Thread safety: any thread.
#pragma once

#include <string>

#include "media/video/index.h"
#include "storage/source.h"

namespace penstock::media {

// What is wrong with the end of a video, of which `index` holds what is there; empty: nothing, or
// it cannot be known. `container`: as FFmpeg calls it.
std::string early_end(const storage::Source& source, const FrameIndex& index,
                      const std::string& container);

}  // namespace penstock::media
