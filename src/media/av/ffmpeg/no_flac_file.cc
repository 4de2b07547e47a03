// A build without libFLAC: FFmpeg reads FLAC, too.
#include "media/av/ffmpeg/flac_file.h"

namespace penstock::media::av {

std::unique_ptr<FlacFile> open_flac_file(std::shared_ptr<const storage::Source>) {
  return nullptr;
}

std::string flac_library_version() {
  return {};
}

}  // namespace penstock::media::av
