// Decoders and converters that are done with one stream, kept for the next one like it on the same
// thread: short clips spend much of their time on setting these up.
//
// A thread keeps one decoder, the tables of one conversion of pixels and one resampler, until it
// ends. Only decoders that are known to come out of a flush like new ones are kept (AAC's is not:
// it goes on with its noise; nor MP3's: a first frame that lacks the bytes before it is scaled by
// what the last file left behind; nor those of H.264 and HEVC without extradata to tell them what
// holds now), none that has met damage, and none of pictures larger than 1920 x 1088.
//
// Thread safety: what is taken belongs to the taker; every function may be called from any thread.
#pragma once

#include <memory>

#include "media/av/av.h"
#include "media/av/ffmpeg/headers.h"

namespace penstock::media::av {

struct SpareDecoder {
  CodecPtr context;
  ParametersPtr parameters;  // that it was opened with
  int delay = 0;             // has_b_frames when it was new
};

bool may_be_kept(const AVCodecParameters& parameters, const InputOptions& options) noexcept;

// Flushed, and as it was when it was opened; the first packet must bring the extradata along. Its
// context is null if there is none like that.
SpareDecoder take_decoder(const AVCodecParameters& like, const InputOptions& options);
void keep_decoder(SpareDecoder decoder) noexcept;

}  // namespace penstock::media::av
