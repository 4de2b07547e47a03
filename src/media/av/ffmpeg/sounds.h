// Decoded samples in the form that was asked for, by libswresample.
#pragma once

#include <memory>

#include "media/av/av.h"
#include "media/av/ffmpeg/headers.h"

namespace penstock::media::av {

inline constexpr int kMostChannels = 64;
// Of two sample rates: a header of a few bytes could else ask for gigabytes.
inline constexpr int kMostRatio = 256;

Sound sound_of(const AVFrame& frame, bool damaged);

// `frame` is the one that the decoder gives its sounds in; it outlives the result.
Result<std::unique_ptr<Resampler>> make_resampler(const AVFrame& frame, const SampleForm& form);

}  // namespace penstock::media::av
