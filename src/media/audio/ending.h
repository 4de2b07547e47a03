// Files that end before they say they do, where FFmpeg takes the end of the file for that of the
// sound.
//
// Thread safety: any thread.
#pragma once

#include <string>

#include "storage/source.h"

namespace penstock::media {

// What is wrong with the end of an Ogg, Matroska, AVI, AIFF or AU file; empty: nothing, or it
// cannot be known. `container`: as FFmpeg calls it.
std::string early_end(const storage::Source& source, const std::string& container);

}  // namespace penstock::media
