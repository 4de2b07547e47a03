// The public encode function: checks, then one of the writers.
#include <string>

#include "media/image/jpeg_writer.h"
#include "media/image/png_writer.h"
#include "media/image/webp_writer.h"
#include "penstock/media.h"

namespace penstock {
namespace {

Error bad(std::string message) {
  return Error(Code::invalid_argument, std::move(message));
}

}  // namespace

Result<std::vector<std::byte>> encode_image(ConstImageView image, const EncodeOptions& options) {
  if (image.data == nullptr || image.width <= 0 || image.height <= 0) {
    return bad("there are no pixels to encode");
  }
  if (image.width > INT32_MAX || image.height > INT32_MAX ||
      image.width > INT64_MAX / 16 / image.height) {
    return Error(Code::out_of_range, "the picture is too large");
  }
  const std::string channels = std::to_string(image.channels) + " channels";
  switch (options.format) {
    case ImageFormat::jpeg:
      if (image.channels != 1 && image.channels != 3) {
        return bad("JPEG holds 1 (L) or 3 (RGB) channels, not " + channels);
      }
      if (options.quality < 1 || options.quality > 100) return bad("quality must be 1 to 100");
      return media::write_jpeg(image, options);
    case ImageFormat::png:
      if (image.channels < 1 || image.channels > 4) {
        return bad("PNG holds 1 to 4 channels, not " + channels);
      }
      if (options.level < 0 || options.level > 12) return bad("level must be 0 to 12");
      return media::write_png(image, options);
    case ImageFormat::webp:
      if (image.channels != 1 && image.channels != 3 && image.channels != 4) {
        return bad("WebP holds 1 (L), 3 (RGB) or 4 (RGBA) channels, not " + channels);
      }
      if (options.quality < 1 || options.quality > 100) return bad("quality must be 1 to 100");
      return media::write_webp(image, options);
    default:
      return Error(Code::unsupported, "images are written as jpeg, png or webp, not " +
                                          std::string(name_of(options.format)));
  }
}

}  // namespace penstock
