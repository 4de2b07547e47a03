// PictureOrder: are pictures shown in the order of their packets, as they say themselves?
// Containers may say otherwise: streams that were put into one without their times lose what
// B-frames need.
#pragma once

#include "media/av/ffmpeg/headers.h"

namespace penstock::media::av {

// MPEG-4 was put into AVI with two pictures in a packet: the second one is shown first. In its
// place there is a packet that says nothing.
bool holds_two_pictures(const AVPacket& mpeg4);

// Thread safety: one thread at a time.
class PictureOrder {
 public:
  // Can pictures of this kind be shown in another order at all?
  static bool is_open(const AVCodecParameters& parameters) noexcept;

  explicit PictureOrder(const AVCodecParameters& parameters);

  // To be asked of one packet after the other: is its picture shown before that of the last one?
  // False also where that cannot be told.
  bool is_early(const AVPacket& packet);

 private:
  struct ParserClose {
    void operator()(AVCodecParserContext* parser) const noexcept { av_parser_close(parser); }
  };
  std::unique_ptr<AVCodecParserContext, ParserClose> parser_;
  CodecPtr context_;
  bool numbered_ = false;  // pictures have numbers in the order in which they are shown
  int last_ = 0;
};

}  // namespace penstock::media::av
