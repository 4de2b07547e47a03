// PNG: the picture data inflated in one go by libdeflate (three times as fast as zlib, which a
// streaming reader would need), then unfiltered and expanded row by row.
#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "media/image/codecs.h"
#include "media/image/png_file.h"
#include "media/image/png_rows.h"
#include "media/image/png_unfilter.h"
#include "media/image/scratch.h"

namespace penstock::media {
namespace {

struct Pass {
  int x, y, step_x, step_y;
};
constexpr Pass kWhole = {0, 0, 1, 1};
constexpr Pass kAdam7[7] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                            {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};

std::int64_t pass_width(const PngFile& file, const Pass& pass) {
  return (file.width - pass.x + pass.step_x - 1) / pass.step_x;
}
std::int64_t pass_height(const PngFile& file, const Pass& pass) {
  return (file.height - pass.y + pass.step_y - 1) / pass.step_y;
}

// A pass without pixels has no rows, and so no filter bytes.
std::size_t pass_bytes(const PngFile& file, const Pass& pass) {
  const std::int64_t width = pass_width(file, pass), height = pass_height(file, pass);
  return width <= 0 || height <= 0 ? 0 : std::size_t(height * (1 + file.row_bytes(width)));
}

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
};

libdeflate_decompressor* decompressor() {
  thread_local std::unique_ptr<libdeflate_decompressor, FreeDecompressor> mine(
      libdeflate_alloc_decompressor());
  return mine.get();
}

// `data` is a zlib stream: 2 bytes of header, deflate, Adler-32 of the result.
Status inflate(Bytes data, std::uint8_t* to, std::size_t size, bool strict) {
  if (data.size() < 2 || (data[0] & 15) != 8 || (data[0] << 8 | data[1]) % 31 != 0 ||
      (data[1] & 32)) {
    return corrupt("PNG: the picture data is not a zlib stream");
  }
  libdeflate_decompressor* inflater = decompressor();
  if (inflater == nullptr) return Error(Code::out_of_memory, "PNG: no memory to inflate");
  std::size_t used = 0, made = 0;
  const libdeflate_result result = libdeflate_deflate_decompress_ex(
      inflater, data.data() + 2, data.size() - 2, to, size, &used, &made);
  if (result == LIBDEFLATE_INSUFFICIENT_SPACE) {
    return corrupt("PNG: more picture data than the header announces");
  }
  if (result != LIBDEFLATE_SUCCESS) return corrupt("PNG: the picture data is damaged");
  if (made != size) return corrupt("PNG: less picture data than the header announces");
  if (!strict) return {};
  const Bytes sum = data.subspan(2 + used);
  if (sum.size() < 4 || libdeflate_adler32(1, to, made) !=
                            (std::uint32_t(sum[0]) << 24 | std::uint32_t(sum[1]) << 16 |
                             std::uint32_t(sum[2]) << 8 | sum[3])) {
    return corrupt("PNG: wrong checksum over the picture data");
  }
  return {};
}

// Calls take(y, row) for every row of a pass; `raw` holds filtered rows and is worked in place.
template <class Take>
Status each_row(const PngFile& file, const Pass& pass, std::uint8_t*& raw,
                const std::uint8_t* zeros, Take take) {
  const std::int64_t width = pass_width(file, pass), height = pass_height(file, pass);
  if (width <= 0 || height <= 0) return {};
  const std::int64_t bytes = file.row_bytes(width);
  const int step = std::max(1, file.bits_per_pixel() / 8);
  const std::uint8_t* above = zeros;
  for (std::int64_t y = 0; y < height; ++y) {
    std::uint8_t* row = raw + 1;
    if (!unfilter_png_row(raw[0], row, above, bytes, step)) {
      return corrupt("PNG: unknown filter " + std::to_string(raw[0]));
    }
    take(y, row);
    above = row;
    raw = row + bytes;
  }
  return {};
}

Status decode_interlaced(const PngFile& file, Native native, std::uint8_t* raw,
                         const std::uint8_t* zeros, PixelWriter& writer) {
  const std::size_t pixel = std::size_t(channels_of(native)) * (bits_of(native) / 8);
  const std::size_t row_bytes = pixel * std::size_t(file.width);
  ScratchLease image(ScratchUse::image, row_bytes * std::size_t(file.height + 1));
  if (!image) return Error(Code::out_of_memory, "PNG: no memory for an interlaced picture");
  std::uint8_t* const spread = image.data() + row_bytes * std::size_t(file.height);
  for (const Pass& pass : kAdam7) {
    const std::int64_t width = pass_width(file, pass);
    const Status status =
        each_row(file, pass, raw, zeros, [&](std::int64_t y, const std::uint8_t* row) {
          expand_png_row(file, native, row, width, spread);
          std::uint8_t* to = image.data() + row_bytes * std::size_t(pass.y + y * pass.step_y) +
                             pixel * std::size_t(pass.x);
          for (std::int64_t x = 0; x < width; ++x) {
            std::memcpy(to + pixel * std::size_t(x * pass.step_x), spread + pixel * std::size_t(x),
                        pixel);
          }
        });
    if (!status) return status;
  }
  for (std::int64_t y = 0; y < file.height; ++y) {
    std::memcpy(writer.row(y), image.data() + row_bytes * std::size_t(y), row_bytes);
    writer.commit(y);
  }
  return {};
}

Result<ImageInfo> info(Bytes bytes) {
  Result<PngFile> file = read_png(bytes, false);
  if (!file) return std::move(file).error();
  return ImageInfo{ImageFormat::png, file->width,
                   file->height,     channels_of(png_native(*file, PixelMode::unchanged)),
                   file->depth,      file->orientation};
}

Status decode(Bytes bytes, const DecodeOptions& options, PixelWriter& writer) {
  Result<PngFile> read = read_png(bytes, options.strict);
  if (!read) return std::move(read).error();
  const PngFile& file = *read;
  if (Status size = check_size(file.width, file.height, options.max_pixels); !size) return size;

  std::size_t raw_bytes = 0;
  if (file.interlaced) {
    for (const Pass& pass : kAdam7) raw_bytes += pass_bytes(file, pass);
  } else {
    raw_bytes = pass_bytes(file, kWhole);
  }
  // Deflate cannot shrink by more than 1032: a bomb is known by its size, before any allocation.
  if (raw_bytes / 1032 > file.data_bytes) {
    return corrupt("PNG: less picture data than the header announces");
  }
  const Native native = png_native(file, options.mode);
  if (Status begun = writer.begin(file.width, file.height, native); !begun) return begun;

  // One row of zeros stands above the first row.
  const std::size_t zeros = std::size_t(file.row_bytes(file.width));
  ScratchLease raw(ScratchUse::raw, zeros + raw_bytes);
  const bool scattered = file.data_chunks > 1;
  ScratchLease gathered(ScratchUse::file, scattered ? file.data_bytes : 0);
  if (!raw || !gathered) return Error(Code::out_of_memory, "PNG: no memory for the picture");
  Bytes data = bytes.subspan(file.data_offset + 8, file.data_bytes);
  if (scattered) {
    gather_png_data(bytes, file, gathered.data());
    data = {gathered.data(), file.data_bytes};
  }
  std::memset(raw.data(), 0, zeros);
  std::uint8_t* rows = raw.data() + zeros;
  if (Status s = inflate(data, rows, raw_bytes, options.strict); !s) return s;
  if (file.interlaced) return decode_interlaced(file, native, rows, raw.data(), writer);
  return each_row(file, kWhole, rows, raw.data(), [&](std::int64_t y, const std::uint8_t* row) {
    expand_png_row(file, native, row, file.width, writer.row(y));
    writer.commit(y);
  });
}

}  // namespace

const Codec kPngCodec = {ImageFormat::png, "PNG", is_png, info, decode};

}  // namespace penstock::media
