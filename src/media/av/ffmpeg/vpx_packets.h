// What packets of VP8 and VP9 say of themselves, and of the alpha that WebM holds beside them.
//
// Thread safety: pure functions.
#pragma once

#include "media/av/ffmpeg/headers.h"

namespace penstock::media::av {

// Only there to be referred to?
bool is_hidden(const AVPacket& packet, AVCodecID codec) noexcept;

// Does the container hold alpha, coded as pictures of their own, beside those of the stream?
bool has_alpha_beside(const AVStream& stream) noexcept;

// May decoding of the packet's alpha begin with it? It has key frames of its own.
bool alpha_begins(const AVPacket& packet, AVCodecID codec) noexcept;

}  // namespace penstock::media::av
