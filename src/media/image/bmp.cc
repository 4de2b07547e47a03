// BMP: 1, 4, 8, 16, 24 and 32 bits, palettes, bit fields, run lengths, either way up.
//
// File header (14 bytes): "BM", ..., offset of the pixels at 10. Then a header that begins with its
// own size: 12 (OS/2, sizes in 16 bits) or 40 and more (sizes in 32 bits; a negative height means
// top row first). Then the palette, 3 or 4 bytes a colour, blue first. Rows are padded to 4 bytes.
#include <array>
#include <bit>
#include <cstring>

#include "media/image/codecs.h"
#include "media/image/little_endian.h"
#include "media/image/scratch.h"

namespace penstock::media {
namespace {

bool sniff(Bytes b) noexcept {
  return b.size() >= 2 && b[0] == 'B' && b[1] == 'M';
}

enum Compression : std::uint32_t { kRaw = 0, kRle8 = 1, kRle4 = 2, kBitFields = 3 };

// Where one channel sits in a 16- or 32-bit pixel.
struct Field {
  int shift = 0;
  std::uint32_t max = 0;  // 0: absent

  static Field of(std::uint32_t mask) {
    if (mask == 0) return {};
    const int shift = std::countr_zero(mask);
    return {shift, mask >> shift};
  }
  std::uint8_t get(std::uint32_t pixel) const {
    return std::uint8_t(std::uint64_t((pixel >> shift) & max) * 255 / max);
  }
};

struct Bitmap {
  std::int64_t width = 0, height = 0;
  bool top_down = false;
  int bits = 0;
  std::uint32_t compression = kRaw;
  std::size_t pixels = 0;  // offset
  bool grey = true;        // the palette is the grey of its index
  std::array<std::uint8_t, 256 * 3> palette{};
  Field red, green, blue, alpha;

  std::int64_t row_bytes() const { return (width * bits + 31) / 32 * 4; }
  Native native(PixelMode mode) const {
    if (bits <= 8) return grey || mode == PixelMode::index ? Native::l : Native::rgb;
    return alpha.max ? Native::rgba : Native::rgb;
  }
};

Error ended(Bytes bytes) {
  return corrupt("BMP: the file ends before the picture does")
      .at_offset(std::int64_t(bytes.size()));
}

Status read_palette(Bytes bytes, std::size_t at, std::size_t colours, std::size_t entry,
                    Bitmap& bitmap) {
  if (colours == 0) colours = std::size_t(1) << bitmap.bits;
  if (colours > 65536) return corrupt("BMP: " + std::to_string(colours) + " colours");
  if (bitmap.pixels == at) bitmap.pixels += colours * entry;  // some writers forget the palette
  if (at > bytes.size() || colours * entry > bytes.size() - at) return ended(bytes);
  bitmap.palette.fill(0);  // indices without a colour are black
  const bool black_and_white = bitmap.bits == 1;
  for (std::size_t i = 0; i < std::min<std::size_t>(colours, 256); ++i) {
    const std::uint8_t* from = &bytes[at + i * entry];
    std::uint8_t* to = &bitmap.palette[i * 3];
    to[0] = from[2], to[1] = from[1], to[2] = from[0];
    const std::uint8_t level = std::uint8_t(black_and_white ? (i ? 255 : 0) : i);
    bitmap.grey &= to[0] == level && to[1] == level && to[2] == level;
  }
  return {};
}

Status read_fields(Bytes bytes, std::size_t header, Bitmap& bitmap) {
  bitmap.red = Field::of(bitmap.bits == 16 ? 0x7C00 : 0xFF0000);
  bitmap.green = Field::of(bitmap.bits == 16 ? 0x03E0 : 0xFF00);
  bitmap.blue = Field::of(bitmap.bits == 16 ? 0x001F : 0xFF);
  if (bitmap.compression != kBitFields) return {};
  if (bitmap.bits != 16 && bitmap.bits != 32 && bitmap.bits != 24) {
    return corrupt("BMP: bit fields with " + std::to_string(bitmap.bits) + " bits");
  }
  // The masks are the header's next fields, or follow a header that has no room for them.
  constexpr std::size_t kMasks = 14 + 40;
  if (bytes.size() < kMasks + 16) return ended(bytes);
  std::uint32_t masks[4];
  for (int i = 0; i < 4; ++i) masks[i] = le32(&bytes[kMasks + std::size_t(i) * 4]);
  if (header < 56) masks[3] = 0;
  if (bitmap.bits == 32 && !masks[0] && !masks[1] && !masks[2] && !masks[3]) {
    bitmap.alpha = Field::of(0xFF000000);
    return {};
  }
  if (!masks[0] || !masks[1] || !masks[2]) return unsupported("BMP: a colour without a bit field");
  bitmap.red = Field::of(masks[0]), bitmap.green = Field::of(masks[1]);
  bitmap.blue = Field::of(masks[2]);
  bitmap.alpha = bitmap.bits == 32 ? Field::of(masks[3]) : Field{};
  return {};
}

Result<Bitmap> read_bitmap(Bytes bytes) {
  if (bytes.size() < 26) return ended(bytes);
  Bitmap bitmap;
  const std::size_t header = le32(&bytes[14]);
  bitmap.pixels = le32(&bytes[10]);
  std::size_t colours = 0;
  if (header == 12) {
    bitmap.width = le16(&bytes[18]), bitmap.height = le16(&bytes[20]);
    bitmap.bits = int(le16(&bytes[24]));
  } else if (header == 40 || header == 52 || header == 56 || header == 64 || header == 108 ||
             header == 124) {
    if (bytes.size() < 14 + header) return ended(bytes);
    bitmap.width = std::int32_t(le32(&bytes[18]));
    bitmap.height = std::int32_t(le32(&bytes[22]));
    bitmap.top_down = bitmap.height < 0;
    if (bitmap.top_down) bitmap.height = -bitmap.height;
    bitmap.bits = int(le16(&bytes[28]));
    bitmap.compression = le32(&bytes[30]);
    colours = le32(&bytes[46]);
  } else {
    return unsupported("BMP: a header of " + std::to_string(header) + " bytes");
  }
  if (Status s = check_size(bitmap.width, bitmap.height, INT64_MAX); !s) {
    return std::move(s).error();
  }
  switch (bitmap.bits) {
    case 1:
    case 4:
    case 8:
    case 16:
    case 24:
    case 32:
      break;
    default:
      return unsupported("BMP: " + std::to_string(bitmap.bits) + " bits a pixel");
  }
  const bool rle = (bitmap.compression == kRle8 && bitmap.bits == 8) ||
                   (bitmap.compression == kRle4 && bitmap.bits == 4);
  if (bitmap.compression != kRaw && bitmap.compression != kBitFields && !rle) {
    return unsupported("BMP: compression " + std::to_string(bitmap.compression));
  }
  const Status status =
      bitmap.bits <= 8 ? read_palette(bytes, 14 + header, colours, header == 12 ? 3 : 4, bitmap)
                       : read_fields(bytes, header, bitmap);
  if (!status) return Status(status).error();
  if (bitmap.pixels > bytes.size()) return ended(bytes);
  return bitmap;
}

// One index a byte, rows in file order, into `to`. What the file leaves out is 0.
Status expand_runs(Bytes bytes, const Bitmap& bitmap, bool strict, std::uint8_t* to) {
  const std::size_t width = std::size_t(bitmap.width);
  const std::size_t size = width * std::size_t(bitmap.height);
  const bool half = bitmap.compression == kRle4;
  std::memset(to, 0, size);
  std::size_t made = 0, at = bitmap.pixels;
  const auto index = [half](std::uint8_t pair, std::size_t i) {
    return std::uint8_t(!half ? pair : i % 2 ? pair & 15 : pair >> 4);
  };
  while (made < size) {
    if (bytes.size() - at < 2) return strict ? Status(ended(bytes)) : Status();
    const std::size_t count = bytes[at];
    const std::uint8_t value = bytes[at + 1];
    at += 2;
    if (count > 0) {  // a run; one that passes the row's end is cut
      const std::size_t run = std::min(count, width - made % width);
      for (std::size_t i = 0; i < run; ++i) to[made++] = index(value, i);
    } else if (value == 0) {  // end of line
      made += (width - made % width) % width;
    } else if (value == 1) {  // end of bitmap
      break;
    } else if (value == 2) {  // a jump to the right and up
      if (bytes.size() - at < 2) return strict ? Status(ended(bytes)) : Status();
      made = std::min(size, made + bytes[at] + bytes[at + 1] * width);
      at += 2;
    } else {  // indices as they are, padded to 2 bytes
      const std::size_t literal = std::min<std::size_t>(value, size - made);
      const std::size_t stored = half ? (std::size_t(value) + 1) / 2 : value;
      if (bytes.size() - at < stored) return ended(bytes);
      for (std::size_t i = 0; i < literal; ++i) {
        to[made++] = index(bytes[at + (half ? i / 2 : i)], i);
      }
      at = std::min(bytes.size(), at + stored + stored % 2);
    }
  }
  return {};
}

void write_indices(const Bitmap& bitmap, Native native, const std::uint8_t* from, int bits,
                   std::uint8_t* to) {
  const int mask = (1 << bits) - 1, per_byte = 8 / bits;
  const bool spread = bitmap.bits == 1 && bitmap.grey;
  for (std::int64_t x = 0; x < bitmap.width; ++x) {
    const int shift = 8 - bits * int(x % per_byte + 1);
    const int index = from[x / per_byte] >> shift & mask;
    if (native == Native::l) {
      *to++ = std::uint8_t(spread && index ? 255 : index);
    } else {
      std::memcpy(to, &bitmap.palette[std::size_t(index) * 3], 3);
      to += 3;
    }
  }
}

void write_pixels(const Bitmap& bitmap, const std::uint8_t* from, std::uint8_t* to) {
  const bool alpha = bitmap.alpha.max != 0;
  const int step = bitmap.bits / 8;
  for (std::int64_t x = 0; x < bitmap.width; ++x, from += step) {
    if (step == 3) {
      to[0] = from[2], to[1] = from[1], to[2] = from[0];
    } else {
      const std::uint32_t pixel = step == 2 ? le16(from) : le32(from);
      to[0] = bitmap.red.get(pixel), to[1] = bitmap.green.get(pixel);
      to[2] = bitmap.blue.get(pixel);
      if (alpha) to[3] = bitmap.alpha.get(pixel);
    }
    to += alpha ? 4 : 3;
  }
}

Result<ImageInfo> info(Bytes bytes) {
  Result<Bitmap> bitmap = read_bitmap(bytes);
  if (!bitmap) return std::move(bitmap).error();
  return ImageInfo{ImageFormat::bmp,
                   bitmap->width,
                   bitmap->height,
                   channels_of(bitmap->native(PixelMode::unchanged)),
                   bitmap->bits < 8 ? bitmap->bits : 8,
                   1};
}

Status decode(Bytes bytes, const DecodeOptions& options, PixelWriter& writer) {
  Result<Bitmap> read = read_bitmap(bytes);
  if (!read) return std::move(read).error();
  const Bitmap& bitmap = *read;
  if (Status s = check_size(bitmap.width, bitmap.height, options.max_pixels); !s) return s;
  const bool runs = bitmap.compression == kRle8 || bitmap.compression == kRle4;
  const std::int64_t row_bytes = runs ? bitmap.width : bitmap.row_bytes();
  const std::uint8_t* rows = bytes.data() + bitmap.pixels;
  const std::size_t available = bytes.size() - bitmap.pixels;
  ScratchLease indices(ScratchUse::raw, runs ? std::size_t(row_bytes * bitmap.height) : 0);
  if (!indices) return Error(Code::out_of_memory, "BMP: no memory for the picture");
  if (runs) {
    if (Status s = expand_runs(bytes, bitmap, options.strict, indices.data()); !s) return s;
    rows = indices.data();
  } else if (std::size_t(row_bytes * (bitmap.height - 1) + (bitmap.width * bitmap.bits + 7) / 8) >
             available) {
    return ended(bytes);
  }
  const Native native = bitmap.native(options.mode);
  if (Status s = writer.begin(bitmap.width, bitmap.height, native); !s) return s;
  for (std::int64_t y = 0; y < bitmap.height; ++y) {
    const std::uint8_t* from = rows + row_bytes * (bitmap.top_down ? y : bitmap.height - 1 - y);
    if (bitmap.bits <= 8) {
      write_indices(bitmap, native, from, runs ? 8 : bitmap.bits, writer.row(y));
    } else {
      write_pixels(bitmap, from, writer.row(y));
    }
    writer.commit(y);
  }
  return {};
}

}  // namespace

const Codec kBmpCodec = {ImageFormat::bmp, "BMP", sniff, info, decode};

}  // namespace penstock::media
