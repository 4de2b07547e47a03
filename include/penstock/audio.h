// Audio: samples of a file, or of a part of it.
//
//   Result<Audio> second = load_audio("speech.flac", {.start = 10, .duration = 1});
//   use(second->samples, second->sample_rate);  // float32, channels x samples
//
// A part is equal to a full decode that is cut at the same place: sample round(start * rate) is its
// first one, and there are round(duration * rate) of them unless the sound ends before; resampled,
// the length is that of the new rate. What encoders put before and after the sound (delay, padding)
// is left out where the file says how much it is.
//
// FFmpeg's libraries do the decoding; see penstock/video.h for what happens where they are missing.
//
// Thread safety: every function may be called from any thread at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "penstock/dtype.h"
#include "penstock/error.h"
#include "penstock/tensor.h"

namespace penstock {

struct AudioInfo {
  std::string container;  // as FFmpeg calls it
  std::string codec;
  int sample_rate = 0;
  int channels = 0;
  std::string layout;   // "stereo"
  int bits = 0;         // of a sample in the file; 0: that has no meaning
  double duration = 0;  // in seconds, as the container says; 0: it does not
};

struct AudioOptions {
  double start = 0;                     // seconds
  std::optional<double> duration = {};  // seconds; nothing: to the end
  int sample_rate = 0;                  // 0: as it is; at most 256 times as many, or as few
  int channels = 0;                     // 1: all mixed to one; 0: as they are
  std::vector<int> select = {};         // these channels of the file; empty: all
  DType dtype = DType::float32;         // or int16
  bool channels_first = true;
  int stream = -1;       // the number of the stream in the file; negative: the best one
  bool strict = false;   // damage that the decoder has noticed is an Error
  bool partial = false;  // what comes before damage that cannot be decoded is kept
  // True: a codec whose decoder depends on all that went before (AAC, SILK in Opus) is decoded from
  // the beginning. False: from a little before the part; its samples may differ in their last bits.
  bool exact = true;
};

struct Audio {
  Tensor samples;  // channels x samples, or samples x channels
  int sample_rate = 0;
  double start = 0;              // of the first sample, in seconds
  std::int64_t damaged = 0;      // times that damage was noticed, or that something is missing
  std::optional<Error> failure;  // what ended it early, if partial
};

Result<AudioInfo> audio_info(const std::string& name, int stream = -1);
Result<AudioInfo> audio_info(std::span<const std::byte> bytes, int stream = -1);
Result<Audio> load_audio(const std::string& name, const AudioOptions& options = {});
Result<Audio> load_audio(std::span<const std::byte> bytes, const AudioOptions& options = {});

enum class AudioFormat : std::uint8_t { wav, flac };                      // FLAC needs FFmpeg
enum class SampleCoding : std::uint8_t { int16, int24, int32, float32 };  // FLAC: the first two

struct AudioFileOptions {
  AudioFormat format = AudioFormat::wav;
  // Floats are rounded to the nearest integer; what is louder than 1 is cut off. NaN is an Error
  // where samples become integers.
  SampleCoding coding = SampleCoding::int16;
  bool channels_first = true;
};

// `samples`: float32 or int16, channels x samples (or samples x channels), or one channel alone.
Result<std::vector<std::byte>> encode_audio(const Tensor& samples, int sample_rate,
                                            const AudioFileOptions& options = {});
// The same into a file, which takes the place of one that is there when all of it is written.
Status save_audio(const std::string& path, const Tensor& samples, int sample_rate,
                  const AudioFileOptions& options = {});

}  // namespace penstock
