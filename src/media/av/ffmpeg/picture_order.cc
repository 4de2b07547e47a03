#include "media/av/ffmpeg/picture_order.h"

#include <string_view>
#include <utility>

namespace penstock::media::av {
namespace {

constexpr int kH264Baseline = 66;  // FFmpeg 8 has renamed its own

}  // namespace

bool holds_two_pictures(const AVPacket& mpeg4) {
  constexpr std::string_view kPicture("\x00\x00\x01\xB6", 4);
  const std::string_view bytes(reinterpret_cast<const char*>(mpeg4.data), std::size_t(mpeg4.size));
  const std::size_t first = bytes.find(kPicture);
  return first != bytes.npos && bytes.find(kPicture, first + kPicture.size()) != bytes.npos;
}

bool PictureOrder::is_open(const AVCodecParameters& parameters) noexcept {
  switch (parameters.codec_id) {
    case AV_CODEC_ID_H264:
      return parameters.profile != kH264Baseline;
    case AV_CODEC_ID_HEVC:
    case AV_CODEC_ID_MPEG4:
    case AV_CODEC_ID_MPEG1VIDEO:
    case AV_CODEC_ID_MPEG2VIDEO:
      return true;
    default:
      return false;
  }
}

PictureOrder::PictureOrder(const AVCodecParameters& parameters) {
  if (!is_open(parameters)) return;
  context_.reset(avcodec_alloc_context3(nullptr));
  if (context_ == nullptr || avcodec_parameters_to_context(context_.get(), &parameters) < 0) return;
  parser_.reset(av_parser_init(parameters.codec_id));
  if (parser_ != nullptr) parser_->flags |= PARSER_FLAG_COMPLETE_FRAMES;
  numbered_ = parameters.codec_id == AV_CODEC_ID_H264 || parameters.codec_id == AV_CODEC_ID_HEVC;
}

bool PictureOrder::is_early(const AVPacket& packet) {
  if (parser_ == nullptr || packet.size <= 0) return false;
  if (context_->codec_id == AV_CODEC_ID_MPEG4 && holds_two_pictures(packet)) return true;
  std::uint8_t* data = nullptr;
  int size = 0;
  parser_->pict_type = AV_PICTURE_TYPE_NONE;
  (void)av_parser_parse2(parser_.get(), context_.get(), &data, &size, packet.data, packet.size,
                         AV_NOPTS_VALUE, AV_NOPTS_VALUE, -1);
  const int before = std::exchange(last_, parser_->output_picture_number);
  // Only these are; where there are numbers these tell which of them are.
  if (parser_->pict_type != AV_PICTURE_TYPE_B) return false;
  return !numbered_ || last_ < before;
}

}  // namespace penstock::media::av
