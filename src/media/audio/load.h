// Audio from a storage source, for the library's own use. The contracts are those of
// penstock/audio.h.
#pragma once

#include <memory>

#include "penstock/audio.h"
#include "storage/source.h"

namespace penstock::media {

Result<AudioInfo> audio_info(std::shared_ptr<const storage::Source> source, int stream);
Result<Audio> load_audio(std::shared_ptr<const storage::Source> source,
                         const AudioOptions& options);
// Error: the options ask for what cannot be, whatever the file.
Status check(const AudioOptions& options);

}  // namespace penstock::media
