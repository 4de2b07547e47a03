#include "media/av/ffmpeg/vpx_packets.h"

#include <cstddef>
#include <string_view>

namespace penstock::media::av {
namespace {

bool is_profile_3(unsigned first) {
  return (first & 0x30) == 0x30;
}

}  // namespace

bool is_hidden(const AVPacket& packet, AVCodecID codec) noexcept {
  if (packet.size < 1) return false;
  const unsigned first = packet.data[0];
  if (codec == AV_CODEC_ID_VP8) return (first & 0x10) == 0;
  if (codec != AV_CODEC_ID_VP9) return false;
  const unsigned last = packet.data[packet.size - 1];
  if ((last & 0xE0) == 0xC0) return false;     // several frames in one packet: the last is shown
  const int at = is_profile_3(first) ? 2 : 3;  // the bit that says: show one that is there already
  const bool existing = (first >> at & 1) != 0;
  return !existing && (first >> (at - 2) & 1) == 0;
}

bool has_alpha_beside(const AVStream& stream) noexcept {
  const AVCodecID codec = stream.codecpar->codec_id;
  const AVDictionaryEntry* mode = av_dict_get(stream.metadata, "alpha_mode", nullptr, 0);
  return mode != nullptr && std::string_view(mode->value) == "1" &&
         (codec == AV_CODEC_ID_VP8 || codec == AV_CODEC_ID_VP9);
}

bool alpha_begins(const AVPacket& packet, AVCodecID codec) noexcept {
  std::size_t size = 0;
  const std::uint8_t* beside =
      av_packet_get_side_data(&packet, AV_PKT_DATA_MATROSKA_BLOCKADDITIONAL, &size);
  constexpr std::size_t kNumber = 8;  // which of a block's additions this is: 1 is alpha
  if (beside == nullptr || size <= kNumber || beside[kNumber - 1] != 1) return true;
  const unsigned first = beside[kNumber];
  if (codec == AV_CODEC_ID_VP8) return (first & 1) == 0;
  const bool existing = (first & (is_profile_3(first) ? 4 : 8)) != 0;
  return !existing && (first & (is_profile_3(first) ? 2 : 4)) == 0;
}

}  // namespace penstock::media::av
