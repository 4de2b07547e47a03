#include "media/image/png_file.h"

#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "media/image/exif.h"

namespace penstock::media {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint8_t kSignature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

Error bad(const std::string& what, std::size_t offset) {
  return Error(Code::corrupt, "PNG: " + what).at_offset(std::int64_t(offset));
}

std::uint32_t u32(const std::uint8_t* p) {
  return std::uint32_t(p[0]) << 24 | std::uint32_t(p[1]) << 16 | std::uint32_t(p[2]) << 8 | p[3];
}
std::uint16_t u16(const std::uint8_t* p) {
  return std::uint16_t(p[0] << 8 | p[1]);
}

// length (4 bytes), type (4), data (length), checksum of type and data (4)
struct Chunk {
  const std::uint8_t* type;
  Bytes data;

  bool is(const char* name) const { return std::memcmp(type, name, 4) == 0; }
  bool sound() const {
    return libdeflate_crc32(0, type, 4 + data.size()) == u32(data.data() + data.size());
  }
};

Status read_header(const Chunk& chunk, PngFile& file) {
  const Bytes d = chunk.data;
  if (!chunk.is("IHDR") || d.size() != 13) return bad("no header chunk", 8);
  const std::uint32_t width = u32(&d[0]), height = u32(&d[4]);
  if (width == 0 || height == 0 || width > INT32_MAX || height > INT32_MAX) {
    return bad("impossible size " + std::to_string(width) + " x " + std::to_string(height), 16);
  }
  file.width = width;
  file.height = height;
  file.depth = d[8];
  file.colour = PngColour(d[9]);
  const auto depth_in = [&](std::initializer_list<int> depths) {
    return std::find(depths.begin(), depths.end(), file.depth) != depths.end();
  };
  bool known = false;
  switch (file.colour) {
    case PngColour::grey:
      known = depth_in({1, 2, 4, 8, 16});
      break;
    case PngColour::palette:
      known = depth_in({1, 2, 4, 8});
      break;
    case PngColour::rgb:
    case PngColour::grey_alpha:
    case PngColour::rgba:
      known = depth_in({8, 16});
      break;
  }
  if (!known) {
    return bad("colour type " + std::to_string(d[9]) + " with " + std::to_string(d[8]) + " bits",
               24);
  }
  if (d[10] != 0 || d[11] != 0 || d[12] > 1) return bad("unknown compression method", 26);
  file.interlaced = d[12] == 1;
  return {};
}

void read_transparency(Bytes d, PngFile& file) {
  switch (file.colour) {
    case PngColour::palette:
      for (std::size_t i = 0; i < d.size() && i < 256; ++i) file.palette[i * 4 + 3] = d[i];
      file.has_transparency = true;
      break;
    case PngColour::grey:
      if (d.size() < 2) return;
      file.transparent[0] = u16(&d[0]);
      file.has_transparency = true;
      break;
    case PngColour::rgb:
      if (d.size() < 6) return;
      for (int i = 0; i < 3; ++i) file.transparent[i] = u16(&d[2 * i]);
      file.has_transparency = true;
      break;
    default:
      break;  // alpha is in the picture already
  }
}

// Chunks behind the picture, which it does not need: its orientation may be there.
void read_behind(Bytes bytes, std::size_t at, PngFile& file) {
  while (bytes.size() - at >= 12) {
    const std::size_t length = u32(&bytes[at]);
    const Chunk chunk{&bytes[at + 4], bytes.subspan(at + 8)};
    if (length > bytes.size() - at - 12 || chunk.is("IEND")) return;
    if (chunk.is("eXIf")) file.orientation = exif_orientation(chunk.data.first(length));
    at += 12 + length;
  }
}

}  // namespace

int PngFile::samples() const {
  switch (colour) {
    case PngColour::grey:
    case PngColour::palette:
      return 1;
    case PngColour::grey_alpha:
      return 2;
    case PngColour::rgb:
      return 3;
    case PngColour::rgba:
      return 4;
  }
  return 1;
}

bool is_png(Bytes bytes) noexcept {
  return bytes.size() >= sizeof(kSignature) &&
         std::memcmp(bytes.data(), kSignature, sizeof(kSignature)) == 0;
}

Result<PngFile> read_png(Bytes bytes, bool strict) {
  if (!is_png(bytes)) return bad("no signature", 0);
  PngFile file;
  for (std::size_t i = 0; i < 256; ++i) file.palette[i * 4 + 3] = 255;
  bool have_header = false, have_palette = false, complete = false;
  for (std::size_t at = sizeof(kSignature); !complete;) {
    if (bytes.size() - at < 12) {
      if (file.data_chunks > 0 && !strict) break;
      return bad("the file ends before the picture does", bytes.size());
    }
    const std::uint32_t length = u32(&bytes[at]);
    const Chunk chunk{&bytes[at + 4],
                      bytes.subspan(at + 8, std::min<std::size_t>(length, bytes.size() - at - 12))};
    if (chunk.data.size() < length) return bad("the file ends inside a chunk", bytes.size());
    if (!have_header) {
      if (Status s = read_header(chunk, file); !s) return std::move(s).error();
      if (strict && !chunk.sound()) return bad("wrong checksum in the header", at);
      have_header = true;
    } else if (chunk.is("IDAT")) {
      if (strict && !chunk.sound()) return bad("wrong checksum in the picture data", at);
      if (file.data_chunks == 0) file.data_offset = at;
      file.data_bytes += length;
      ++file.data_chunks;
    } else if (file.data_chunks > 0) {
      read_behind(bytes, at, file);
      complete = true;
    } else if (chunk.is("PLTE")) {
      if (strict && !chunk.sound()) return bad("wrong checksum in the palette", at);
      // Indices without a colour stay black.
      for (std::size_t i = 0; i < 256 && i * 3 + 2 < length; ++i) {
        std::copy_n(&chunk.data[i * 3], 3, &file.palette[i * 4]);
      }
      have_palette = true;
    } else if (chunk.is("tRNS")) {
      if (strict && !chunk.sound()) return bad("wrong checksum in the transparency", at);
      read_transparency(chunk.data, file);
    } else if (chunk.is("eXIf")) {
      file.orientation = exif_orientation(chunk.data);
    } else if (chunk.is("IEND")) {
      return bad("no picture data", at);
    } else if ((chunk.type[0] & 0x20) == 0) {
      return Error(Code::unsupported, "PNG: unknown critical chunk").at_offset(std::int64_t(at));
    }
    at += 12 + std::size_t(length);
  }
  if (file.colour == PngColour::palette && !have_palette)
    return bad("no palette", file.data_offset);
  return file;
}

void gather_png_data(Bytes bytes, const PngFile& file, std::uint8_t* to) {
  std::size_t at = file.data_offset;
  for (int i = 0; i < file.data_chunks; ++i) {
    const std::size_t length = u32(&bytes[at]);
    std::memcpy(to, &bytes[at + 8], length);
    to += length;
    at += 12 + length;
  }
}

}  // namespace penstock::media
