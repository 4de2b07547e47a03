// FFmpeg's headers, and what differs between its versions 5.1 to 8.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <libavutil/channel_layout.h>
#include <libavutil/crc.h>
#include <libavutil/display.h>
#include <libavutil/error.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>
}

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

namespace penstock::media::av {

// Frees by a function that takes a pointer to the pointer, as most of FFmpeg's do.
template <auto Free>
struct FreeBy {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(&object);
  }
};

using PacketPtr = std::unique_ptr<AVPacket, FreeBy<av_packet_free>>;
using FramePtr = std::unique_ptr<AVFrame, FreeBy<av_frame_free>>;
using CodecPtr = std::unique_ptr<AVCodecContext, FreeBy<avcodec_free_context>>;
using ParametersPtr = std::unique_ptr<AVCodecParameters, FreeBy<avcodec_parameters_free>>;
using SwrPtr = std::unique_ptr<SwrContext, FreeBy<swr_free>>;

struct SwsFree {
  void operator()(SwsContext* context) const noexcept { sws_freeContext(context); }
};
using SwsPtr = std::unique_ptr<SwsContext, SwsFree>;

// What a stream says by an enum; of a damaged one that may be a number without a name.
template <class Enum>
int number_of(const Enum& said) {
  static_assert(sizeof(Enum) == sizeof(int));
  int number = 0;
  std::memcpy(&number, &said, sizeof number);
  return number;
}

// The stream's display matrix, or null.
inline const std::int32_t* display_matrix(const AVStream& stream) {
#if LIBAVFORMAT_VERSION_MAJOR >= 61
  const AVPacketSideData* data =
      av_packet_side_data_get(stream.codecpar->coded_side_data, stream.codecpar->nb_coded_side_data,
                              AV_PKT_DATA_DISPLAYMATRIX);
  return data != nullptr && data->size >= 36 ? reinterpret_cast<const std::int32_t*>(data->data)
                                             : nullptr;
#else
  std::size_t size = 0;
  const std::uint8_t* data = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
  return data != nullptr && size >= 36 ? reinterpret_cast<const std::int32_t*>(data) : nullptr;
#endif
}

inline bool is_key(const AVFrame& frame) {
#ifdef AV_FRAME_FLAG_KEY
  return (frame.flags & AV_FRAME_FLAG_KEY) != 0;
#else
  return frame.key_frame != 0;
#endif
}

inline std::string words_of(int code) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(code, text, sizeof text);
  return text;
}

}  // namespace penstock::media::av
