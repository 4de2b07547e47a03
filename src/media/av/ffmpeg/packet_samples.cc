#include "media/av/ffmpeg/packet_samples.h"

#include <algorithm>
#include <string_view>

namespace penstock::media::av {
namespace {

// By the packet's first two bytes.
std::int64_t opus_samples(const AVPacket& packet) {
  if (packet.size < 1) return 0;
  const unsigned first = packet.data[0], kind = first >> 3, count = first & 3;
  const std::int64_t frame = kind >= 16        ? 120 << (kind & 3)
                             : kind >= 12      ? 480 << (kind & 1)
                             : (kind & 3) == 3 ? 2880
                                               : 480 << (kind & 3);
  if (count < 3) return frame * (count == 0 ? 1 : 2);
  return packet.size < 2 ? 0 : frame * (packet.data[1] & 63);
}

std::int64_t big_endian(const std::uint8_t* four) {
  return std::int64_t(four[0]) << 24 | four[1] << 16 | four[2] << 8 | four[3];
}

// As many as in all packets, which is said in the file's header, or another number: then there are
// 32 bits, from the last one of the third byte on.
std::int64_t alac_samples(const AVPacket& packet, const AVCodecParameters& is) {
  constexpr int kCommon = 12, kHasOwn = 0x10;
  if (packet.size < 7 || is.extradata_size < kCommon + 4) return 0;
  if ((packet.data[2] & kHasOwn) == 0) return big_endian(is.extradata + kCommon);
  return (big_endian(packet.data + 2) << 8 | packet.data[6]) >> 1 & 0xFFFFFFFF;
}

}  // namespace

// PCM of DVDs lets groups of samples go on in the next packet, and has no exact number of bits.
bool stands_alone(const AVCodecParameters& is) {
  if (is.codec_id == AV_CODEC_ID_FLAC || is.codec_id == AV_CODEC_ID_ALAC) return true;
  return std::string_view(avcodec_get_name(is.codec_id)).starts_with("pcm_") &&
         av_get_exact_bits_per_sample(is.codec_id) > 0;
}

std::int64_t said_samples(const AVPacket& packet, AVCodecParameters& is) {
  switch (is.codec_id) {
    case AV_CODEC_ID_OPUS:
      return opus_samples(packet);
    case AV_CODEC_ID_ALAC:
      return alac_samples(packet, is);
    case AV_CODEC_ID_FLAC: {
      const std::optional<FlacFrame> frame = flac_frame_of(packet, is);
      return frame ? frame->samples : 0;
    }
    default:
      return av_get_audio_frame_duration2(&is, packet.size);
  }
}

std::optional<FlacFrame> flac_frame_of(const AVPacket& packet, const AVCodecParameters& is) {
  return flac_frame({packet.data, std::size_t(packet.size)},
                    {is.extradata, std::size_t(std::max(is.extradata_size, 0))});
}

}  // namespace penstock::media::av
