// JPEG through JpegReader: the header's facts and whole pictures.
#include "media/image/jpeg.h"

#include <cstring>

#include "media/image/codecs.h"
#include "media/image/exif.h"

namespace penstock::media {
namespace {

bool sniff(Bytes b) noexcept {
  return b.size() >= 3 && b[0] == 0xFF && b[1] == 0xD8 && b[2] == 0xFF;
}

Result<ImageInfo> info(Bytes bytes) {
  JpegReader& reader = JpegReader::of_thread();
  if (Status opened = reader.open(bytes, false); !opened) return std::move(opened).error();
  const JpegHeader& header = reader.header();
  if (Status size = check_size(header.width, header.height, INT64_MAX); !size) {
    return std::move(size).error();
  }
  return ImageInfo{ImageFormat::jpeg,      header.width, header.height, header.components, 8,
                   jpeg_orientation(bytes)};
}

Status decode(Bytes bytes, const DecodeOptions& options, PixelWriter& writer) {
  JpegReader& reader = JpegReader::of_thread();
  if (Status opened = reader.open(bytes, options.strict); !opened) return opened;
  const JpegHeader& header = reader.header();
  if (Status size = check_size(header.width, header.height, options.max_pixels); !size) return size;

  JpegSetup setup;
  setup.colour = jpeg_colour(header, options.mode, true);
  setup.region = {0, 0, header.width, header.height};
  const Native native = native_of(setup.colour);
  if (Status begun = writer.begin(header.width, header.height, native); !begun) return begun;
  if (Status started = reader.start(setup); !started) return started;
  if (writer.direct()) {
    const PixelMemory memory = writer.memory();
    if (Status s = reader.read_rows(memory.data, memory.row_bytes, header.height); !s) return s;
  } else {
    for (std::int64_t y = 0; y < header.height; ++y) {
      if (Status s = reader.read_rows(writer.row(y), 0, 1); !s) return s;
      writer.commit(y);
    }
  }
  return reader.finish();
}

}  // namespace

JpegColour jpeg_colour(const JpegHeader& header, PixelMode mode, bool exact) {
  if (header.components == 4) return JpegColour::cmyk;
  const bool coloured = mode == PixelMode::rgb || mode == PixelMode::bgr || mode == PixelMode::rgba;
  if (header.components == 1 && !coloured) return JpegColour::grey;
  switch (mode) {
    case PixelMode::bgr:
      return JpegColour::bgr;
    case PixelMode::rgba:
      return JpegColour::rgba;
    // Pillow makes grey from RGB; the file's own brightness is nearly that and needs no chroma.
    case PixelMode::l:
      return !exact && header.has_luma ? JpegColour::grey : JpegColour::rgb;
    default:
      return JpegColour::rgb;
  }
}

Native native_of(JpegColour colour) {
  switch (colour) {
    case JpegColour::grey:
      return Native::l;
    case JpegColour::rgb:
      return Native::rgb;
    case JpegColour::bgr:
      return Native::bgr;
    case JpegColour::rgba:
      return Native::rgba;
    case JpegColour::cmyk:
      return Native::cmyk;
  }
  return Native::rgb;
}

int jpeg_orientation(std::span<const std::uint8_t> bytes) noexcept {
  constexpr std::uint8_t kApp1 = 0xE1, kStartOfScan = 0xDA, kEnd = 0xD9;
  std::size_t at = 2;
  while (at + 4 <= bytes.size()) {
    if (bytes[at] != 0xFF) return 1;
    const std::uint8_t marker = bytes[at + 1];
    if (marker == 0xFF) {  // fill
      ++at;
      continue;
    }
    if (marker == kStartOfScan || marker == kEnd) return 1;
    const std::size_t length = std::size_t(bytes[at + 2]) << 8 | bytes[at + 3];
    if (length < 2 || length > bytes.size() - at - 2) return 1;
    const auto body = bytes.subspan(at + 4, length - 2);
    if (marker == kApp1 && body.size() > 6 && std::memcmp(body.data(), "Exif\0\0", 6) == 0) {
      return exif_orientation(body.subspan(6));
    }
    at += 2 + length;
  }
  return 1;
}

const Codec kJpegCodec = {ImageFormat::jpeg, "JPEG", sniff, info, decode};

}  // namespace penstock::media
