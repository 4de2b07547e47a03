// Steps that decode the clips of a row: video and audio. A field holds the bytes of a file, or, if
// it is text, its name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/steps.h"
#include "media/video/painter.h"
#include "penstock/audio.h"
#include "penstock/video.h"

namespace penstock::data {

// Which frames of a clip.
enum class Sampling : std::uint8_t {
  uniform,  // the middles of equal parts
  random,   // one of each part
  clip,     // neighbours, from a random one on
};

struct VideoWork {
  std::string field;
  VideoOptions options;
  media::PaintRequest paint;  // its finish is that of the slot
  bool rotate = false;
  bool strict = false;
  std::int64_t frames = 8;
  Sampling sampling = Sampling::uniform;
  std::int64_t stride = 1;           // between the frames of a clip
  std::uint32_t ordinal = 0;         // of the crop; the choice of frames has the one after it
  std::string numbers;               // a field for the numbers of the frames; empty: none
  std::string damaged;               // a field for how many of them are damaged; empty: none
  std::optional<std::size_t> array;  // the slot array, if the result goes straight into the batch
};
Result<StepPtr> video_step(VideoWork work);

// The numbers of `count` frames out of `total`, which is not 0. A clip that is too short gives
// frames several times.
std::vector<std::int64_t> choose_frames(const VideoWork& work, std::int64_t total,
                                        RandomStream random);

struct AudioWork {
  std::string field;
  AudioOptions options;
  std::string rate;     // a field for the sample rate; empty: none
  std::string damaged;  // a field for how often damage was noticed; empty: none
  // A part of this many seconds at a random place, instead of options.start.
  bool random_start = false;
  std::uint32_t ordinal = 0;
};
Result<StepPtr> audio_step(AudioWork work);

// What a clip in a field of the row is read from.
Result<std::shared_ptr<const storage::Source>> clip_source(const Value* value,
                                                           const std::string& field,
                                                           const char* step, const Row& row);

}  // namespace penstock::data
