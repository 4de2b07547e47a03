// The public decode functions: find the codec, decode, turn upright.
#include <cstring>

#include "media/image/codecs.h"
#include "media/image/jpeg.h"
#include "media/image/region.h"
#include "penstock/media.h"
#include "transform/orientation.h"

namespace penstock {
namespace media {
namespace {

Result<ImageShape> decode_whole(const Codec& codec, Bytes bytes, const DecodeOptions& options,
                                PixelTarget& target) {
  PixelWriter writer(options.mode, target);
  if (Status s = codec.decode(bytes, options, writer); !s) return std::move(s).error();
  return writer.shape();
}

// Only the region's blocks are decoded.
Result<ImageShape> decode_jpeg_region(Bytes bytes, Rect region, const DecodeOptions& options,
                                      PixelTarget& target) {
  JpegReader& reader = JpegReader::of_thread();
  if (Status s = reader.open(bytes, options.strict); !s) return std::move(s).error();
  const JpegHeader& header = reader.header();
  if (Status s = check_size(header.width, header.height, options.max_pixels); !s) {
    return std::move(s).error();
  }
  if (Status s = check_region(region, header.width, header.height); !s) return std::move(s).error();
  JpegSetup setup;
  setup.colour = jpeg_colour(header, options.mode, true);
  setup.region = region;
  PixelWriter writer(options.mode, target);
  if (Status s = writer.begin(region.width, region.height, native_of(setup.colour)); !s) {
    return std::move(s).error();
  }
  if (Status s = reader.start(setup); !s) return std::move(s).error();
  const std::size_t row_bytes = std::size_t(reader.row_width()) * std::size_t(reader.channels());
  const std::size_t skip =
      std::size_t(region.x - reader.first_col()) * std::size_t(reader.channels());
  const std::size_t kept = std::size_t(region.width) * std::size_t(reader.channels());
  const std::int64_t at_once = reader.rows_at_once();
  ScratchLease rows(ScratchUse::rows, row_bytes * std::size_t(at_once));
  if (!rows) return Error(Code::out_of_memory, "JPEG: no memory for rows");
  for (std::int64_t y = 0; y < region.height; y += at_once) {
    const std::int64_t count = std::min(at_once, region.height - y);
    if (Status s = reader.read_rows(rows.data(), std::ptrdiff_t(row_bytes), count); !s) {
      return std::move(s).error();
    }
    for (std::int64_t r = 0; r < count; ++r) {
      std::memcpy(writer.row(y + r), rows.data() + row_bytes * std::size_t(r) + skip, kept);
      writer.commit(y + r);
    }
  }
  if (Status s = reader.finish(); !s) return std::move(s).error();
  return writer.shape();
}

int pixel_bytes(const ImageShape& shape) {
  return shape.channels * (shape.bits / 8);
}

void turn_upright(const std::uint8_t* from, std::int64_t row_bytes, const ImageShape& stored,
                  int orientation, const ImageShape& upright, PixelMemory to) {
  const int bytes = pixel_bytes(stored);
  orient_pixels({from, stored.height, stored.width, bytes, std::ptrdiff_t(row_bytes)}, orientation,
                {to.data, upright.height, upright.width, bytes, to.row_bytes});
}

}  // namespace

int orientation_to_apply(const ImageInfo& info, const DecodeOptions& options) {
  return options.apply_orientation || info.format == ImageFormat::tiff ? info.orientation : 1;
}

Result<PixelMemory> ScratchTarget::place(const ImageShape& shape) {
  lease_.emplace(use_, std::size_t(shape.bytes()));
  if (!*lease_) return Error(Code::out_of_memory, "no memory for a picture");
  return PixelMemory{lease_->data(), std::ptrdiff_t(shape.row_bytes())};
}

Status check_region(Rect region, std::int64_t width, std::int64_t height) {
  if (region.x >= 0 && region.y >= 0 && region.width > 0 && region.height > 0 && region.x < width &&
      region.y < height && region.width <= width - region.x && region.height <= height - region.y) {
    return {};
  }
  const auto text = [](std::int64_t v) { return std::to_string(v); };
  return Error(Code::invalid_argument, "the crop (" + text(region.x) + ", " + text(region.y) +
                                           ", " + text(region.width) + " x " + text(region.height) +
                                           ") does not fit a picture of " + text(width) + " x " +
                                           text(height));
}

Result<DecodedCrop> decode_crop(const Codec& codec, Bytes bytes, const ImageInfo& info, Rect crop,
                                const DecodeOptions& options, ScratchTarget& whole,
                                ScratchTarget& cut) {
  const int orientation = orientation_to_apply(info, options);
  const Rect rect = stored_rect(crop, info.width, info.height, orientation);
  if (Status s = check_region(rect, info.width, info.height); !s) return std::move(s).error();
  DecodedCrop result;
  if (codec.format == ImageFormat::jpeg) {
    Result<ImageShape> decoded = decode_jpeg_region(bytes, rect, options, whole);
    if (!decoded) return std::move(decoded).error();
    result = {whole.data(), decoded->row_bytes(), *decoded};
  } else {
    Result<ImageShape> decoded = decode_whole(codec, bytes, options, whole);
    if (!decoded) return std::move(decoded).error();
    if (Status s = check_region(rect, decoded->width, decoded->height); !s) {
      return std::move(s).error();
    }
    result = {whole.data() + rect.y * decoded->row_bytes() + rect.x * pixel_bytes(*decoded),
              decoded->row_bytes(), *decoded};
    result.shape.width = rect.width, result.shape.height = rect.height;
  }
  if (orientation == 1) return result;
  const ImageShape stored = result.shape;
  if (orientation > 4) std::swap(result.shape.width, result.shape.height);
  Result<PixelMemory> memory = cut.place(result.shape);
  if (!memory) return std::move(memory).error();
  turn_upright(result.data, result.row_bytes, stored, orientation, result.shape, *memory);
  result.data = memory->data, result.row_bytes = memory->row_bytes;
  return result;
}

}  // namespace media

using namespace media;

Result<ImageInfo> image_info(std::span<const std::byte> bytes) {
  Result<const Codec*> codec = find_codec(as_bytes(bytes));
  if (!codec) return std::move(codec).error();
  Result<ImageInfo> info = (*codec)->info(as_bytes(bytes));
  if (info && info->format == ImageFormat::tiff) {  // see orientation_to_apply
    *info = {
        info->format, info->upright_width(), info->upright_height(), info->channels, info->bits, 1};
  }
  return info;
}

Result<ImageShape> decode_image(std::span<const std::byte> bytes, const DecodeOptions& options,
                                PixelTarget& target) {
  const Bytes file = as_bytes(bytes);
  Result<const Codec*> codec = find_codec(file);
  if (!codec) return std::move(codec).error();
  int orientation = 1;
  if (options.apply_orientation || (*codec)->format == ImageFormat::tiff) {
    Result<ImageInfo> info = (*codec)->info(file);
    if (!info) return std::move(info).error();
    orientation = info->orientation;
  }
  if (orientation == 1) return decode_whole(**codec, file, options, target);

  ScratchTarget stored(ScratchUse::whole);
  Result<ImageShape> decoded = decode_whole(**codec, file, options, stored);
  if (!decoded) return decoded;
  ImageShape upright = *decoded;
  if (orientation > 4) std::swap(upright.width, upright.height);
  Result<PixelMemory> memory = target.place(upright);
  if (!memory) return std::move(memory).error();
  turn_upright(stored.data(), decoded->row_bytes(), *decoded, orientation, upright, *memory);
  return upright;
}

Result<ImageShape> decode_image_region(std::span<const std::byte> bytes, Rect region,
                                       const DecodeOptions& options, PixelTarget& target) {
  const Bytes file = as_bytes(bytes);
  Result<const Codec*> codec = find_codec(file);
  if (!codec) return std::move(codec).error();
  Result<ImageInfo> info = (*codec)->info(file);
  if (!info) return std::move(info).error();
  if (info->format == ImageFormat::jpeg && orientation_to_apply(*info, options) == 1) {
    return decode_jpeg_region(file, region, options, target);
  }
  ScratchTarget whole(ScratchUse::whole), cut(ScratchUse::region);
  Result<DecodedCrop> crop = decode_crop(**codec, file, *info, region, options, whole, cut);
  if (!crop) return std::move(crop).error();
  Result<PixelMemory> memory = target.place(crop->shape);
  if (!memory) return std::move(memory).error();
  for (std::int64_t y = 0; y < crop->shape.height; ++y) {
    std::memcpy(memory->data + y * memory->row_bytes, crop->data + y * crop->row_bytes,
                std::size_t(crop->shape.row_bytes()));
  }
  return crop->shape;
}

}  // namespace penstock
