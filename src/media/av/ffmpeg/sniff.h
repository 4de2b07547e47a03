// What a file is, where its first bytes leave no doubt: FFmpeg need not ask all of its demuxers.
#pragma once

#include "media/av/ffmpeg/headers.h"
#include "storage/source.h"

namespace penstock::media::av {

// Null: FFmpeg has to find out. Any thread.
const AVInputFormat* sniff(const storage::Source& source);

}  // namespace penstock::media::av
