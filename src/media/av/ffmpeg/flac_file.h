// FLAC files by libFLAC. no_flac_file.cc stands in where that is not there.
#pragma once

#include <memory>
#include <string>

#include "media/av/av.h"

namespace penstock::media::av {

// Null: not a FLAC file that says how long it is, or one of more than 24 bits or 8 channels.
std::unique_ptr<FlacFile> open_flac_file(std::shared_ptr<const storage::Source> source);

// Of libFLAC; empty without it.
std::string flac_library_version();

}  // namespace penstock::media::av
