// TIFF through libtiff, from memory: the first page; strips or tiles, planes together or apart.
//
// Grey, palette, RGB and CMYK of 1 to 16 bits are read as samples and assembled here. YCbCr is left
// to libtiff. libtiff's messages go to a per-file handler, never to the terminal.
#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "media/image/codecs.h"
#include "media/image/scratch.h"
#include "media/image/tiff_samples.h"

namespace penstock::media {
namespace {

bool sniff(Bytes b) noexcept {
  return b.size() >= 8 &&
         ((b[0] == 'I' && b[1] == 'I' && (b[2] == 42 || b[2] == 43) && b[3] == 0) ||
          (b[0] == 'M' && b[1] == 'M' && b[2] == 0 && (b[3] == 42 || b[3] == 43)));
}

// What libtiff reads from, and where its first complaint goes. A palette that cannot be read is
// only worth a warning to libtiff, which then takes the indices for grey; to us it is damage.
struct Source {
  Bytes bytes;
  std::uint64_t at = 0;
  std::string complaint;
  bool palette_lost = false;
};

tmsize_t read_bytes(thandle_t handle, void* to, tmsize_t size) {
  auto* source = static_cast<Source*>(handle);
  const std::uint64_t left =
      source->at < source->bytes.size() ? source->bytes.size() - source->at : 0;
  const std::uint64_t count =
      std::min<std::uint64_t>(left, std::uint64_t(std::max<tmsize_t>(size, 0)));
  if (count > 0) std::memcpy(to, source->bytes.data() + source->at, count);
  source->at += count;
  return tmsize_t(count);
}
tmsize_t write_bytes(thandle_t, void*, tmsize_t) {
  return 0;
}
toff_t seek_bytes(thandle_t handle, toff_t offset, int whence) {
  auto* source = static_cast<Source*>(handle);
  if (whence == SEEK_CUR) offset += source->at;
  if (whence == SEEK_END) offset += source->bytes.size();
  return source->at = offset;
}
int close_bytes(thandle_t) {
  return 0;
}
toff_t size_of_bytes(thandle_t handle) {
  return static_cast<Source*>(handle)->bytes.size();
}
int map_bytes(thandle_t handle, void** data, toff_t* size) {
  auto* source = static_cast<Source*>(handle);
  *data = const_cast<std::uint8_t*>(source->bytes.data());
  *size = source->bytes.size();
  return 1;
}
void unmap_bytes(thandle_t, void*, toff_t) {}

void keep_message(Source& source, bool error, const char* format, va_list arguments) {
  char text[256];
  std::vsnprintf(text, sizeof(text), format, arguments);
  const bool palette = std::strstr(text, "ColorMap") != nullptr;
  if ((error || palette) && source.complaint.empty()) source.complaint = text;
  source.palette_lost = source.palette_lost || palette;
}
int on_error(TIFF*, void* user, const char*, const char* format, va_list arguments) {
  keep_message(*static_cast<Source*>(user), true, format, arguments);
  return 1;
}
int on_warning(TIFF*, void* user, const char*, const char* format, va_list arguments) {
  keep_message(*static_cast<Source*>(user), false, format, arguments);
  return 1;
}

struct CloseTiff {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
using TiffHandle = std::unique_ptr<TIFF, CloseTiff>;

Error failure(const Source& source) {
  return corrupt("TIFF: " +
                 (source.complaint.empty() ? "the picture data is damaged" : source.complaint));
}

TiffHandle open_tiff(Source& source) {
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  if (options == nullptr) return nullptr;
  TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, &source);
  TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, &source);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, tmsize_t(1) << 30);
  TiffHandle tiff(TIFFClientOpenExt("memory", "r", &source, read_bytes, write_bytes, seek_bytes,
                                    close_bytes, size_of_bytes, map_bytes, unmap_bytes, options));
  TIFFOpenOptionsFree(options);
  if (source.palette_lost) return nullptr;
  return tiff;
}

Result<TiffLayout> read_layout(TIFF* tiff) {
  TiffLayout layout;
  std::uint32_t width = 0, height = 0;
  std::uint16_t bits = 1, samples = 1, photometric = 0, planar = 1, format = 1, orientation = 1;
  std::uint16_t compression = 1, extra_count = 0, *extra = nullptr;
  if (!TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width) ||
      !TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height)) {
    return corrupt("TIFF: the size is missing");
  }
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &bits);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planar);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &format);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_ORIENTATION, &orientation);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
  TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric);
  layout.width = width, layout.height = height;
  layout.orientation = orientation >= 1 && orientation <= 8 ? orientation : 1;
  layout.bits = bits, layout.samples = samples;
  layout.photometric = photometric;
  layout.separate = planar == PLANARCONFIG_SEPARATE && samples > 1;
  if (photometric == PHOTOMETRIC_YCBCR && compression == COMPRESSION_JPEG && !layout.separate) {
    // libtiff's own JPEG decoder gives RGB.
    TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    layout.photometric = PHOTOMETRIC_RGB;
  }
  if (TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &extra_count, &extra) && extra_count > 0) {
    layout.extra = extra[0];
  }
  if (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID) {
    const bool floating = format == SAMPLEFORMAT_IEEEFP || format == SAMPLEFORMAT_COMPLEXIEEEFP;
    return unsupported(floating ? "TIFF: floating-point samples" : "TIFF: samples with a sign");
  }
  if (layout.photometric == PHOTOMETRIC_PALETTE) {
    std::uint16_t *red, *green, *blue;
    if (!TIFFGetField(tiff, TIFFTAG_COLORMAP, &red, &green, &blue)) {
      return corrupt("TIFF: no palette");
    }
    if (bits > 8) return unsupported("TIFF: a palette of " + std::to_string(bits) + " bits");
    for (int i = 0; i < 256; ++i) std::memset(&layout.palette[std::size_t(i) * 3], i, 3);
    for (std::size_t i = 0; i < std::size_t(1) << bits; ++i) {
      layout.palette[i * 3] = std::uint8_t(red[i] >> 8);
      layout.palette[i * 3 + 1] = std::uint8_t(green[i] >> 8);
      layout.palette[i * 3 + 2] = std::uint8_t(blue[i] >> 8);
    }
  }
  return layout;
}

Result<ImageInfo> info(Bytes bytes) {
  Source source{bytes, 0, {}};
  const TiffHandle tiff = open_tiff(source);
  if (!tiff) return failure(source);
  Result<TiffLayout> layout = read_layout(tiff.get());
  if (!layout) return std::move(layout).error();
  if (Status s = check_size(layout->width, layout->height, INT64_MAX); !s) {
    return std::move(s).error();
  }
  int channels = 3;
  if (layout->photometric != PHOTOMETRIC_YCBCR) {
    Result<Native> native = tiff_native(*layout, PixelMode::unchanged);
    if (!native) return std::move(native).error();
    channels = channels_of(*native);
  }
  return ImageInfo{ImageFormat::tiff, layout->width, layout->height,
                   channels,          layout->bits,  layout->orientation};
}

Status decode_ycbcr(TIFF* tiff, const Source& source, const TiffLayout& layout,
                    PixelWriter& writer) {
  const std::size_t pixels = std::size_t(layout.width * layout.height);
  ScratchLease image(ScratchUse::image, pixels * 4);
  if (!image) return Error(Code::out_of_memory, "TIFF: no memory for the picture");
  auto* raster = reinterpret_cast<std::uint32_t*>(image.data());
  // libtiff turns the picture upright by its tag; here it is wanted as stored.
  TIFFSetField(tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
  if (!TIFFReadRGBAImageOriented(tiff, std::uint32_t(layout.width), std::uint32_t(layout.height),
                                 raster, ORIENTATION_TOPLEFT, 1)) {
    return failure(source);
  }
  if (Status s = writer.begin(layout.width, layout.height, Native::rgb); !s) return s;
  for (std::int64_t y = 0; y < layout.height; ++y) {
    std::uint8_t* to = writer.row(y);
    const std::uint32_t* from = raster + y * layout.width;
    for (std::int64_t x = 0; x < layout.width; ++x, to += 3) {
      to[0] = TIFFGetR(from[x]), to[1] = TIFFGetG(from[x]), to[2] = TIFFGetB(from[x]);
    }
    writer.commit(y);
  }
  return {};
}

// How many bytes one byte of the file may become at most; 0: any number.
std::uint64_t most_of_a_byte(std::uint16_t compression) {
  switch (compression) {
    case COMPRESSION_NONE:
      return 1;
    case COMPRESSION_PACKBITS:
      return 64;
    case COMPRESSION_LZW:
      return 4096;
    case COMPRESSION_DEFLATE:
    case COMPRESSION_ADOBE_DEFLATE:
      return 1032;
    case COMPRESSION_CCITTRLE:
    case COMPRESSION_CCITTRLEW:
    case COMPRESSION_CCITTFAX3:
    case COMPRESSION_CCITTFAX4:
      return 0;  // a bit may be a whole row, of one bit a pixel
    default:
      return 1 << 16;
  }
}

// A band is a strip, or a row of tiles, of one plane: rows of full width, packed as in the file.
struct Bands {
  std::int64_t rows = 0;       // in one band
  std::int64_t row_bytes = 0;  // of a plane's row
  bool padded = false;         // the last strip may go on below the picture
  bool deflate = false;
  std::uint64_t ratio = 0;  // no byte of the file becomes more bytes than this; 0: it may
  std::uint64_t file_size = 0;
  bool tiled = false;
  std::int64_t tile_width = 0, tile_row_bytes = 0;
  std::size_t tile_bytes = 0;
};

Result<Bands> read_bands(TIFF* tiff, const TiffLayout& layout, std::int64_t max_pixels) {
  Bands bands;
  const std::int64_t bits_per_pixel = layout.bits * (layout.separate ? 1 : layout.samples);
  bands.row_bytes = (layout.width * bits_per_pixel + 7) / 8;
  bands.tiled = TIFFIsTiled(tiff) != 0;
  std::uint32_t rows = 0;
  if (bands.tiled) {
    std::uint32_t tile_width = 0;
    TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &tile_width);
    TIFFGetField(tiff, TIFFTAG_TILELENGTH, &rows);
    if (tile_width == 0 || rows == 0 || (std::int64_t(tile_width) * layout.bits) % 8 != 0) {
      return corrupt("TIFF: impossible tiles");
    }
    if (std::int64_t(tile_width) > std::max<std::int64_t>(max_pixels, 65536) / rows) {
      return Error(Code::out_of_range, "TIFF: the tiles are larger than max_pixels allows");
    }
    bands.tile_width = tile_width;
    bands.tile_row_bytes = TIFFTileRowSize(tiff);
    bands.tile_bytes = std::size_t(TIFFTileSize(tiff));
    if (bands.tile_row_bytes * std::int64_t(rows) > std::int64_t(bands.tile_bytes)) {
      return corrupt("TIFF: impossible tiles");
    }
  } else {
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &rows);
    if (rows == 0 || TIFFScanlineSize(tiff) != bands.row_bytes) {
      return corrupt("TIFF: impossible strips");
    }
    bands.padded = rows != UINT32_MAX && layout.height % rows != 0;
  }
  std::uint16_t compression = COMPRESSION_NONE;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
  bands.deflate = compression == COMPRESSION_DEFLATE || compression == COMPRESSION_ADOBE_DEFLATE;
  bands.ratio = most_of_a_byte(compression);
  bands.rows = std::min<std::int64_t>(rows, layout.height);
  return bands;
}

// Can strip or tile `number` become so many bytes? A small file must not cost much memory.
bool can_hold(TIFF* tiff, const Bands& bands, std::uint32_t number, std::uint64_t wanted) {
  const std::uint64_t stored = std::min(TIFFGetStrileByteCount(tiff, number), bands.file_size);
  return bands.ratio == 0 || stored >= wanted / bands.ratio;
}

// What damaged data leaves out is black, and not what was in memory before.
bool read_band(TIFF* tiff, const TiffLayout& layout, const Bands& bands, std::int64_t y,
               std::uint16_t plane, std::uint8_t* tile, std::uint8_t* to) {
  const std::int64_t rows = std::min(bands.rows, layout.height - y);
  if (!bands.tiled) {
    const std::uint32_t strip = TIFFComputeStrip(tiff, std::uint32_t(y), plane);
    const tmsize_t wanted = tmsize_t(rows * bands.row_bytes);
    if (!can_hold(tiff, bands, strip, std::uint64_t(wanted))) return false;
    // Of a strip with more rows than it should have, libdeflate leaves out the end of those that
    // are wanted, and libtiff says nothing. zlib does not.
    if (bands.deflate && bands.padded && y + rows == layout.height) {
      TIFFSetField(tiff, TIFFTAG_DEFLATE_SUBCODEC, DEFLATE_SUBCODEC_ZLIB);
    }
    std::memset(to, 0, std::size_t(wanted));
    return TIFFReadEncodedStrip(tiff, strip, to, wanted) == wanted;
  }
  for (std::int64_t x = 0; x < layout.width; x += bands.tile_width) {
    const std::uint32_t number =
        TIFFComputeTile(tiff, std::uint32_t(x), std::uint32_t(y), 0, plane);
    if (!can_hold(tiff, bands, number, bands.tile_bytes)) return false;
    std::memset(tile, 0, bands.tile_bytes);
    if (TIFFReadTile(tiff, tile, std::uint32_t(x), std::uint32_t(y), 0, plane) < 0) return false;
    const std::int64_t at = bands.tile_row_bytes * (x / bands.tile_width);
    const std::int64_t count = std::min(bands.tile_row_bytes, bands.row_bytes - at);
    for (std::int64_t r = 0; r < rows; ++r) {
      std::memcpy(to + r * bands.row_bytes + at, tile + r * bands.tile_row_bytes,
                  std::size_t(count));
    }
  }
  return true;
}

Status decode(Bytes bytes, const DecodeOptions& options, PixelWriter& writer) {
  Source source{bytes, 0, {}};
  const TiffHandle tiff = open_tiff(source);
  if (!tiff) return failure(source);
  Result<TiffLayout> read = read_layout(tiff.get());
  if (!read) return std::move(read).error();
  const TiffLayout& layout = *read;
  if (Status s = check_size(layout.width, layout.height, options.max_pixels); !s) return s;
  if (layout.photometric == PHOTOMETRIC_YCBCR) {
    return decode_ycbcr(tiff.get(), source, layout, writer);
  }
  Result<Native> native = tiff_native(layout, options.mode);
  if (!native) return std::move(native).error();
  Result<Bands> found = read_bands(tiff.get(), layout, options.max_pixels);
  if (!found) return std::move(found).error();
  found->file_size = bytes.size();
  const Bands& bands = *found;

  const int planes = layout.separate ? layout.samples : 1;
  const std::size_t band_bytes = std::size_t(bands.rows * bands.row_bytes);
  ScratchLease band(ScratchUse::raw, band_bytes * std::size_t(planes));
  ScratchLease tile(ScratchUse::file, bands.tile_bytes);
  ScratchLease samples(ScratchUse::rows, std::size_t(layout.width * layout.samples) * 2);
  if (!band || !tile || !samples) return Error(Code::out_of_memory, "TIFF: no memory");
  bool begun = false;
  for (std::int64_t top = 0; top < layout.height; top += bands.rows) {
    for (int plane = 0; plane < planes; ++plane) {
      if (!read_band(tiff.get(), layout, bands, top, std::uint16_t(plane), tile.data(),
                     band.data() + band_bytes * std::size_t(plane))) {
        return failure(source);
      }
    }
    if (!begun) {  // after the first band: many damaged files never get this far
      if (Status s = writer.begin(layout.width, layout.height, *native); !s) return s;
      begun = true;
    }
    for (std::int64_t y = top; y < std::min(layout.height, top + bands.rows); ++y) {
      const std::uint8_t* row = band.data() + (y - top) * bands.row_bytes;
      for (int plane = 0; plane < planes; ++plane) {
        unpack_tiff_samples(row + band_bytes * std::size_t(plane), layout, plane, samples.data());
      }
      assemble_tiff_row(samples.data(), layout, *native, writer.row(y));
      writer.commit(y);
    }
  }
  return {};
}

}  // namespace

const Codec kTiffCodec = {ImageFormat::tiff, "TIFF", sniff, info, decode};

}  // namespace penstock::media
