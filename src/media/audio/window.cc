// A part of a sound at a place that chance has chosen, as long as it was asked for.
#include <algorithm>
#include <cmath>

#include "media/audio/load.h"
#include "media/audio/part.h"

namespace penstock::media {
namespace {

constexpr double kFar = 1e9;  // seconds

// As the header says, which may be a guess.
Result<Extent> extent_of(const std::shared_ptr<const storage::Source>& source,
                         const AudioOptions& options) {
  const Result<AudioInfo> info = audio_info(source, options.stream);
  if (!info) return info.error();
  if (info->duration > 0 || info->sample_rate <= 0) {
    return Extent{std::llrint(std::min(info->duration, kFar) * info->sample_rate),
                  info->sample_rate};
  }
  // It says nothing. Who looks for what is far behind the end meets it on the way.
  AudioOptions past = options;
  past.start = kFar;
  Extent whole;
  Result<Audio> nothing = load_audio(source, past, &whole);
  if (whole.samples < 0 && !nothing) return std::move(nothing).error();
  return Extent{whole.samples, info->sample_rate};
}

}  // namespace

Result<Audio> load_window(const std::shared_ptr<const storage::Source>& source,
                          AudioOptions options, double chance) {
  if (!options.duration) return load_audio(source, options);
  Result<Extent> whole = extent_of(source, options);
  if (!whole) return std::move(whole).error();
  if (whole->sample_rate <= 0) return load_audio(source, options);
  // Where the header told of more than there is, the place is chosen again, of those that exist.
  // The third time nothing new is learnt.
  for (int turn = 0;; ++turn) {
    const int rate = whole->sample_rate;
    options.start = 0;
    const std::int64_t count = part_of(options, rate).end;
    const double room = double(std::max<std::int64_t>(whole->samples - count, 0));
    const std::int64_t first = std::llrint(chance * room);
    options.start = double(first) / rate;
    Extent met;
    Result<Audio> audio = load_audio(source, options, &met);
    const bool fails = !audio && audio.error().code() != Code::out_of_range;
    const bool fits = met.samples < 0 || met.samples >= first + count;
    if (fails || fits || first == 0 || turn == 2) return audio;
    whole = met;
  }
}

}  // namespace penstock::media
