// FLAC files by libFLAC, where that is part of the build and the file is as it should be. Values
// are those that FFmpeg gives: integers of b bits divided by 2^(b-1), or their upper 16 bits.
#pragma once

#include <memory>
#include <optional>

#include "media/audio/load.h"
#include "penstock/audio.h"
#include "storage/source.h"

namespace penstock::media {

// As load_audio, with `whole` where it is not null. Nothing: FFmpeg must do it. Options are
// checked. Any thread.
Result<std::optional<Audio>> load_flac(const std::shared_ptr<const storage::Source>& source,
                                       const AudioOptions& options, Extent* whole);

}  // namespace penstock::media
