#include "media/image/codecs.h"

#include <cstdio>

namespace penstock {

std::string_view name_of(ImageFormat format) noexcept {
  switch (format) {
    case ImageFormat::jpeg:
      return "jpeg";
    case ImageFormat::png:
      return "png";
    case ImageFormat::webp:
      return "webp";
    case ImageFormat::tiff:
      return "tiff";
    case ImageFormat::bmp:
      return "bmp";
    case ImageFormat::gif:
      return "gif";
    case ImageFormat::pnm:
      return "pnm";
  }
  return "unknown";
}

namespace media {
namespace {

const Codec* const kCodecs[] = {&kJpegCodec, &kPngCodec, &kWebpCodec, &kTiffCodec,
                                &kGifCodec,  &kBmpCodec, &kPnmCodec};

}  // namespace

Result<const Codec*> find_codec(Bytes bytes) {
  if (bytes.empty()) return corrupt("the image has no bytes");
  for (const Codec* codec : kCodecs) {
    if (codec->sniff(bytes)) return codec;
  }
  std::string start;
  for (std::size_t i = 0; i < bytes.size() && i < 8; ++i) {
    char hex[4];
    std::snprintf(hex, sizeof(hex), "%s%02x", i ? " " : "", bytes[i]);
    start += hex;
  }
  return unsupported(
      "not a known image format (JPEG, PNG, WebP, TIFF, BMP, GIF, PNM): begins with " + start);
}

Status check_size(std::int64_t width, std::int64_t height, std::int64_t max_pixels) {
  if (width <= 0 || height <= 0) {
    return corrupt("the image is empty: " + std::to_string(width) + " x " + std::to_string(height));
  }
  if (width > max_pixels / height) {
    return Error(Code::out_of_range, "the image claims " + std::to_string(width) + " x " +
                                         std::to_string(height) + " pixels; max_pixels allows " +
                                         std::to_string(max_pixels));
  }
  return {};
}

}  // namespace media
}  // namespace penstock
