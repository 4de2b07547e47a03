// Any bytes as a WAV file: what its header says of samples lies inside it, and every form of them
// can be had.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "media/audio/wav.h"
#include "storage/source.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const auto source = storage::source_over(std::as_bytes(std::span(data, size)), "fuzz");
  const Result<std::optional<media::WavHeader>> header = media::read_wav_header(*source);
  if (!header || !*header) return 0;
  const media::WavHeader& wav = **header;
  if (wav.there < 0 || wav.said < wav.there ||
      wav.at + std::uint64_t(wav.there * wav.frame_bytes()) > size) {
    std::abort();
  }
  (void)media::info_of(wav);
  const double length = double(wav.there) / wav.sample_rate;
  for (int form = 0; form < 16; ++form) {
    AudioOptions options;
    options.partial = true;
    options.dtype = (form & 1) != 0 ? DType::int16 : DType::float32;
    options.channels_first = (form & 2) != 0;
    if ((form & 4) != 0) options.start = length / 3, options.duration = length / 2 + 1e-6;
    if ((form & 8) != 0) options.select = {wav.channels - 1, 0};
    if (form == 0) options.channels = 1;
    if (!media::wav_gives(wav, options)) continue;
    const Result<Audio> audio = media::load_wav(*source, wav, options);
    if (audio && form < 4 && options.channels == 0 &&
        audio->samples.shape()[options.channels_first ? 1 : 0] != wav.there) {
      std::abort();
    }
  }
  return 0;
}
