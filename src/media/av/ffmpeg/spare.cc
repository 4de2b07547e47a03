#include "media/av/ffmpeg/spare.h"

#include <cstring>
#include <utility>

namespace penstock::media::av {
namespace {

constexpr std::int64_t kMostPixels = 1920 * 1088;

thread_local SpareDecoder spare;

template <class Enum>
bool same(const Enum& a, const Enum& b) {
  return number_of(a) == number_of(b);
}

bool alike(const AVCodecParameters& a, const AVCodecParameters& b) {
  return a.codec_id == b.codec_id && a.codec_tag == b.codec_tag && a.format == b.format &&
         a.width == b.width && a.height == b.height && a.profile == b.profile &&
         a.level == b.level && same(a.field_order, b.field_order) &&
         same(a.color_range, b.color_range) && same(a.color_primaries, b.color_primaries) &&
         same(a.color_trc, b.color_trc) && same(a.color_space, b.color_space) &&
         same(a.chroma_location, b.chroma_location) && a.video_delay == b.video_delay &&
         a.sample_rate == b.sample_rate && a.bits_per_coded_sample == b.bits_per_coded_sample &&
         a.bits_per_raw_sample == b.bits_per_raw_sample && a.block_align == b.block_align &&
         a.initial_padding == b.initial_padding &&
         av_channel_layout_compare(&a.ch_layout, &b.ch_layout) == 0 &&
         a.extradata_size == b.extradata_size &&
         (a.extradata_size == 0 ||
          std::memcmp(a.extradata, b.extradata, std::size_t(a.extradata_size)) == 0);
}

}  // namespace

bool may_be_kept(const AVCodecParameters& parameters, const InputOptions& options) noexcept {
  if (options.threads > 1) return false;
  switch (parameters.codec_id) {
    case AV_CODEC_ID_H264:
    case AV_CODEC_ID_HEVC:
      // Parameter sets that only packets carry would not be forgotten.
      if (parameters.extradata_size == 0) return false;
      [[fallthrough]];
    case AV_CODEC_ID_VP8:
    case AV_CODEC_ID_VP9:
      return std::int64_t(parameters.width) * parameters.height <= kMostPixels;
    default:
      return false;
  }
}

SpareDecoder take_decoder(const AVCodecParameters& like, const InputOptions& options) {
  if (spare.context == nullptr || !may_be_kept(like, options) || !alike(*spare.parameters, like)) {
    return {};
  }
  SpareDecoder taken = std::exchange(spare, {});
  taken.context->has_b_frames = taken.delay;
  return taken;
}

void keep_decoder(SpareDecoder decoder) noexcept {
  avcodec_flush_buffers(decoder.context.get());
  spare = std::move(decoder);
}

}  // namespace penstock::media::av
