// WebP through libwebp: lossy, lossless, alpha, and the first frame of an animation.
#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "media/image/codecs.h"
#include "media/image/exif.h"
#include "media/image/scratch.h"
#include "media/image/webp_rows.h"

namespace penstock::media {
namespace {

constexpr int kLossy = 1;  // of WebPBitstreamFeatures::format; 2 is lossless

bool sniff(Bytes b) noexcept {
  return b.size() >= 16 && std::memcmp(b.data(), "RIFF", 4) == 0 &&
         std::memcmp(b.data() + 8, "WEBP", 4) == 0 && std::memcmp(b.data() + 12, "VP8", 3) == 0;
}

// RIFF: chunks of 4 bytes of name, 4 of length, then data padded to an even length.
int orientation_of(Bytes b) {
  for (std::size_t at = 12; at + 8 <= b.size();) {
    const std::size_t length = std::size_t(b[at + 4]) | std::size_t(b[at + 5]) << 8 |
                               std::size_t(b[at + 6]) << 16 | std::size_t(b[at + 7]) << 24;
    if (length > b.size() - at - 8) return 1;
    if (std::memcmp(&b[at], "EXIF", 4) == 0) {
      Bytes exif = b.subspan(at + 8, length);
      if (exif.size() > 6 && std::memcmp(exif.data(), "Exif\0\0", 6) == 0) exif = exif.subspan(6);
      return exif_orientation(exif);
    }
    at += 8 + length + (length & 1);
  }
  return 1;
}

Error error_of(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return Error(Code::out_of_memory, "WebP: no memory");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return unsupported("WebP: unsupported feature");
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return corrupt("WebP: the file ends before the picture does");
    default:
      return corrupt("WebP: the picture data is damaged");
  }
}

// The canvas of an animation is told in its first chunk, VP8X: flags, then width - 1 and height - 1
// in 24 bits each. libwebp's own reader checks the rest.
Result<WebPBitstreamFeatures> features_of(Bytes bytes) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(bytes.data(), bytes.size(), &features);
  if (status != VP8_STATUS_OK) return error_of(status);
  return features;
}

Result<ImageInfo> info(Bytes bytes) {
  Result<WebPBitstreamFeatures> features = features_of(bytes);
  if (!features) return std::move(features).error();
  return ImageInfo{
      ImageFormat::webp,    features->width, features->height, features->has_alpha ? 4 : 3, 8,
      orientation_of(bytes)};
}

struct DeleteAnimation {
  void operator()(WebPAnimDecoder* d) const { WebPAnimDecoderDelete(d); }
};

Status decode_first_frame(Bytes bytes, std::int64_t height, std::int64_t width, bool alpha,
                          PixelWriter& writer) {
  const WebPData data = {bytes.data(), bytes.size()};
  WebPAnimDecoderOptions options;
  if (!WebPAnimDecoderOptionsInit(&options)) return Error(Code::internal, "WebP: version mismatch");
  const std::unique_ptr<WebPAnimDecoder, DeleteAnimation> animation(
      WebPAnimDecoderNew(&data, &options));
  std::uint8_t* canvas = nullptr;
  int time = 0;
  if (!animation || !WebPAnimDecoderGetNext(animation.get(), &canvas, &time)) {
    return corrupt("WebP: the first frame of the animation is damaged");
  }
  if (Status s = writer.begin(width, height, alpha ? Native::rgba : Native::rgb); !s) return s;
  for (std::int64_t y = 0; y < height; ++y) {
    const std::uint8_t* from = canvas + y * width * 4;
    if (alpha) {
      std::memcpy(writer.row(y), from, std::size_t(width) * 4);
    } else {
      convert_row(from, Native::rgba, width, PixelMode::rgb, writer.row(y));
    }
    writer.commit(y);
  }
  return {};
}

// Lossy pictures leave libwebp as planes: upsampling and colours are faster here, and a row goes to
// the writer when it is made.
Status decode_lossy(Bytes bytes, std::int64_t width, std::int64_t height, bool alpha, Native native,
                    PixelWriter& writer) {
  const std::int64_t samples = (width + 1) / 2, chroma_rows = (height + 1) / 2;
  const auto stride_of = [](std::int64_t row) { return (row + 63) / 64 * 64; };
  const std::int64_t stride = stride_of(width), chroma_stride = stride_of(samples);
  const std::size_t luma_bytes = std::size_t(stride * height);
  const std::size_t chroma_bytes = std::size_t(chroma_stride * chroma_rows);
  ScratchLease planes(ScratchUse::raw, luma_bytes * (alpha ? 2 : 1) + 2 * chroma_bytes);
  ScratchLease mixed(ScratchUse::rows, webp_row_memory(width) * sizeof(std::uint16_t));
  if (!planes || !mixed) return Error(Code::out_of_memory, "WebP: no memory for the picture");

  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) return Error(Code::internal, "WebP: version mismatch");
  config.output.colorspace = alpha ? MODE_YUVA : MODE_YUV;
  config.output.is_external_memory = 1;
  WebPYUVABuffer& yuv = config.output.u.YUVA;
  yuv.y = planes.data();
  yuv.u = yuv.y + luma_bytes;
  yuv.v = yuv.u + chroma_bytes;
  yuv.a = alpha ? yuv.v + chroma_bytes : nullptr;
  yuv.y_stride = yuv.a_stride = int(stride);
  yuv.u_stride = yuv.v_stride = int(chroma_stride);
  yuv.y_size = luma_bytes;
  yuv.a_size = alpha ? luma_bytes : 0;
  yuv.u_size = yuv.v_size = chroma_bytes;
  const VP8StatusCode status = WebPDecode(bytes.data(), bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) return error_of(status);

  for (std::int64_t y = 0; y < height; ++y) {
    const std::int64_t covering = y / 2 * chroma_stride;
    const std::int64_t other =
        std::clamp(y % 2 ? y / 2 + 1 : y / 2 - 1, std::int64_t{0}, chroma_rows - 1);
    const std::int64_t far = other * chroma_stride;
    const WebpRow row = {yuv.y + y * stride,
                         yuv.u + covering,
                         yuv.v + covering,
                         yuv.u + far,
                         yuv.v + far,
                         alpha ? yuv.a + y * stride : nullptr,
                         width};
    webp_pixels(row, native, reinterpret_cast<std::uint16_t*>(mixed.data()), writer.row(y));
    writer.commit(y);
  }
  return {};
}

// Straight into the caller's memory where it is of the right kind.
Status decode_lossless(Bytes bytes, std::int64_t width, std::int64_t height, Native native,
                       PixelWriter& writer) {
  const std::size_t row_bytes = std::size_t(width) * std::size_t(channels_of(native));
  const bool in_place = writer.direct() && writer.memory().row_bytes >= std::ptrdiff_t(row_bytes) &&
                        writer.memory().row_bytes <= INT32_MAX;
  ScratchLease image(ScratchUse::image, in_place ? 0 : row_bytes * std::size_t(height));
  if (!image) return Error(Code::out_of_memory, "WebP: no memory for the picture");

  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) return Error(Code::internal, "WebP: version mismatch");
  config.output.colorspace = native == Native::rgba  ? MODE_RGBA
                             : native == Native::bgr ? MODE_BGR
                                                     : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = in_place ? writer.memory().data : image.data();
  config.output.u.RGBA.stride = int(in_place ? writer.memory().row_bytes : row_bytes);
  config.output.u.RGBA.size =
      std::size_t(config.output.u.RGBA.stride) * std::size_t(height - 1) + row_bytes;
  const VP8StatusCode status = WebPDecode(bytes.data(), bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) return error_of(status);
  if (in_place) return {};
  for (std::int64_t y = 0; y < height; ++y) {
    std::memcpy(writer.row(y), image.data() + std::size_t(y) * row_bytes, row_bytes);
    writer.commit(y);
  }
  return {};
}

Status decode(Bytes bytes, const DecodeOptions& options, PixelWriter& writer) {
  Result<WebPBitstreamFeatures> features = features_of(bytes);
  if (!features) return std::move(features).error();
  const std::int64_t width = features->width, height = features->height;
  if (Status size = check_size(width, height, options.max_pixels); !size) return size;
  const bool alpha = features->has_alpha != 0;
  if (features->has_animation) return decode_first_frame(bytes, height, width, alpha, writer);

  const bool keep_alpha =
      options.mode == PixelMode::rgba || (options.mode == PixelMode::unchanged && alpha);
  const Native native = keep_alpha                       ? Native::rgba
                        : options.mode == PixelMode::bgr ? Native::bgr
                                                         : Native::rgb;
  if (Status s = writer.begin(width, height, native); !s) return s;
  if (features->format == kLossy) {
    return decode_lossy(bytes, width, height, alpha && keep_alpha, native, writer);
  }
  return decode_lossless(bytes, width, height, native, writer);
}

}  // namespace

const Codec kWebpCodec = {ImageFormat::webp, "WebP", sniff, info, decode};

}  // namespace penstock::media
