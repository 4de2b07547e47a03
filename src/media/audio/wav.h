// WAV files without FFmpeg: PCM of 8, 16, 24 and 32 bits, floats of 32 and 64, in RIFF, RF64 and
// BW64, plain and extensible. The header tells where each sample is, so a part of a file costs the
// bytes of that part.
//
// Values are those that FFmpeg gives: integers of b bits are divided by 2^(b-1); int16 is what is
// left of wider integers when their low bits go, and the nearest integer to 32768 x for floats.
//
// Thread safety: every function may be called from any thread at any time.
#pragma once

#include <cstdint>
#include <optional>

#include "penstock/audio.h"
#include "storage/source.h"

namespace penstock::media {

enum class WavCoding : std::uint8_t { u8, s16, s24, s32, f32, f64 };

struct WavHeader {
  WavCoding coding = WavCoding::s16;
  int channels = 0;
  int sample_rate = 0;
  int bits = 0;            // of a sample, in the file
  std::uint32_t mask = 0;  // which speakers; 0: it does not say
  std::uint64_t at = 0;    // the first sample's place in the file
  std::int64_t said = 0;   // samples a channel, as the header says
  std::int64_t there = 0;  // and as the file has; fewer: it was cut off

  std::int64_t frame_bytes() const noexcept { return std::int64_t(channels) * (bits / 8); }
};

// Nothing: this is no WAV file, or one of another kind, which FFmpeg may know. Error: it cannot be
// read.
Result<std::optional<WavHeader>> read_wav_header(const storage::Source& source);

AudioInfo info_of(const WavHeader& header);

// Can this be had without FFmpeg? Other rates and most mixes cannot, unless there are no samples.
bool wav_gives(const WavHeader& header, const AudioOptions& options) noexcept;

// As load_audio. `wav_gives` holds.
Result<Audio> load_wav(const storage::Source& source, const WavHeader& header,
                       const AudioOptions& options);

}  // namespace penstock::media
