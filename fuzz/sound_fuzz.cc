// Any bytes as a sound: MP3 frames that we walk through ourselves, FLAC by libFLAC, and what goes
// on to FFmpeg after either gave up. Whole, a part, in another form; no part has more than it was
// asked for, and one of a sound that is not damaged is as long as the whole lets it be.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "penstock/audio.h"

namespace {

bool is_fine(const penstock::Result<penstock::Audio>& audio) {
  return audio && audio->damaged == 0 && !audio->failure;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  if (size > 1 << 16) return 0;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const Result<Audio> whole = load_audio(bytes, {.partial = true});
  (void)audio_info(bytes);
  constexpr double kStart = 0.05, kDuration = 0.1;
  const Result<Audio> part = load_audio(bytes, {.start = kStart, .duration = kDuration});
  if (part) {
    const double rate = part->sample_rate;
    const std::int64_t first = std::llrint(kStart * rate);
    const std::int64_t most = std::llrint(kDuration * rate);
    const std::int64_t count = part->samples.shape()[1];
    if (count > most) std::abort();
    if (is_fine(whole) && is_fine(part) && whole->sample_rate == part->sample_rate &&
        whole->samples.shape()[0] == part->samples.shape()[0]) {
      const std::int64_t there = whole->samples.shape()[1];
      if (count != std::clamp<std::int64_t>(there - first, 0, most)) std::abort();
    }
  }
  const Result<Audio> other = load_audio(
      bytes, {.sample_rate = 8000, .channels = 1, .dtype = DType::int16, .partial = true});
  if (other && other->samples.shape()[0] != 1) std::abort();
  (void)load_audio(bytes, {.start = 0.4, .channels_first = false, .strict = true, .exact = false});
  return 0;
}
