#include "media/image/webp_writer.h"

#include <webp/encode.h>

#include <string>

#include "media/image/pixel_rows.h"
#include "media/image/scratch.h"

namespace penstock::media {

Result<std::vector<std::byte>> write_webp(ConstImageView image, const EncodeOptions& options) {
  if (image.width > WEBP_MAX_DIMENSION || image.height > WEBP_MAX_DIMENSION) {
    return Error(Code::out_of_range,
                 "WebP: a side may have " + std::to_string(WEBP_MAX_DIMENSION) + " pixels at most");
  }
  WebPConfig config;
  WebPPicture picture;
  if (!WebPConfigInit(&config) || !WebPPictureInit(&picture)) {
    return Error(Code::internal, "WebP: version mismatch");
  }
  config.quality = float(options.quality);
  config.lossless = options.lossless ? 1 : 0;
  config.exact = options.lossless ? 1 : 0;  // keep colours under transparent pixels
  picture.use_argb = config.lossless;
  picture.width = int(image.width);
  picture.height = int(image.height);

  // libwebp reads rows upwards in memory only, and has no grey.
  const int channels = image.channels == 1 ? 3 : image.channels;
  const bool copy = image.channels == 1 || image.row_bytes < image.used_row_bytes() ||
                    image.row_bytes > INT32_MAX;
  const std::size_t packed = std::size_t(image.width) * std::size_t(channels);
  ScratchLease pixels(ScratchUse::raw, copy ? packed * std::size_t(image.height) : 0);
  if (!pixels) return Error(Code::out_of_memory, "WebP: no memory");
  const std::uint8_t* from = image.data;
  int stride = int(image.row_bytes);
  if (copy) {
    for (std::int64_t y = 0; y < image.height; ++y) {
      const Native native = image.channels == 1   ? Native::l
                            : image.channels == 3 ? Native::rgb
                                                  : Native::rgba;
      convert_row(image.row(y), native, image.width,
                  channels == 4 ? PixelMode::rgba : PixelMode::rgb,
                  pixels.data() + std::size_t(y) * packed);
    }
    from = pixels.data();
    stride = int(packed);
  }
  const bool imported = channels == 4 ? WebPPictureImportRGBA(&picture, from, stride)
                                      : WebPPictureImportRGB(&picture, from, stride);
  WebPMemoryWriter writer;
  WebPMemoryWriterInit(&writer);
  picture.writer = WebPMemoryWrite;
  picture.custom_ptr = &writer;
  const bool done = imported && WebPEncode(&config, &picture);
  const int code = picture.error_code;
  WebPPictureFree(&picture);
  std::vector<std::byte> file;
  if (done) {
    const auto* bytes = reinterpret_cast<const std::byte*>(writer.mem);
    file.assign(bytes, bytes + writer.size);
  }
  WebPMemoryWriterClear(&writer);
  if (!done) {
    const bool memory = code == VP8_ENC_ERROR_OUT_OF_MEMORY;
    return Error(memory ? Code::out_of_memory : Code::internal,
                 "WebP: the encoder failed with code " + std::to_string(code));
  }
  return file;
}

}  // namespace penstock::media
