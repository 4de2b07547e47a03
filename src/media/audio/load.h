// Audio from a storage source, for the library's own use. The contracts are those of
// penstock/audio.h.
#pragma once

#include <memory>

#include "penstock/audio.h"
#include "storage/source.h"

namespace penstock::media {

Result<AudioInfo> audio_info(std::shared_ptr<const storage::Source> source, int stream);
// What a load has found out of the whole sound.
struct Extent {
  std::int64_t samples = -1;  // of each channel; negative: it did not come to its end
  int sample_rate = 0;
};
// `whole` is filled in whenever the end was reached, also with an Error.
Result<Audio> load_audio(std::shared_ptr<const storage::Source> source, const AudioOptions& options,
                         Extent* whole = nullptr);
// A part of options.duration at one of the places where it fits; `chance`, 0 to 1, says which. A
// sound that is shorter is taken whole.
Result<Audio> load_window(const std::shared_ptr<const storage::Source>& source,
                          AudioOptions options, double chance);
// Error: the options ask for what cannot be, whatever the file.
Status check(const AudioOptions& options);

}  // namespace penstock::media
