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
#include <memory>
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

// A size from which on it only means very large, if there is less: those who write into a pipe
// choose one of their own.
inline constexpr std::uint64_t kVeryLarge = 0x7F000000;

// The chunk that holds the samples of a WAV file, of whatever coding.
struct WavData {
  std::uint64_t at = 0;     // its first byte
  std::uint64_t said = 0;   // bytes, as the header says; if it does not: those that are there
  std::uint64_t there = 0;  // up to the end of the file
  bool open = false;        // the header does not say: it goes on to the end of the file
  bool is_long = false;     // RF64 or BW64
};
// Nothing: this is no WAV file, or there are no samples in it. Error: it cannot be read.
Result<std::optional<WavData>> find_wav_data(const storage::Source& source);

// The same file as FFmpeg reads it right: it takes one with a 64-bit header that is open for empty.
std::shared_ptr<const storage::Source> for_ffmpeg(std::shared_ptr<const storage::Source> source,
                                                  const WavData& data);

// Nothing: this is no WAV file, or one of another kind, which FFmpeg may know. Error: it cannot be
// read. `data` is filled in for those, too.
Result<std::optional<WavHeader>> read_wav_header(const storage::Source& source,
                                                 WavData* data = nullptr);

AudioInfo info_of(const WavHeader& header);

// Can this be had without FFmpeg? Other rates and most mixes cannot, unless there are no samples.
bool wav_gives(const WavHeader& header, const AudioOptions& options) noexcept;

// As load_audio. `wav_gives` holds.
Result<Audio> load_wav(const storage::Source& source, const WavHeader& header,
                       const AudioOptions& options);

}  // namespace penstock::media
