// The table of image codecs: one row per format, one file per row.
//
// To add a format: write its file with a sniff, an info and a decode function, declare its Codec
// below, add it to the table in codecs.cc, and a test.
//
// Thread safety: the table is constant; its functions may be called from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "media/image/pixel_writer.h"
#include "penstock/media.h"

namespace penstock::media {

using Bytes = std::span<const std::uint8_t>;

struct Codec {
  ImageFormat format;
  const char* name;
  // Does the file begin like one of this format?
  bool (*sniff)(Bytes bytes) noexcept;
  Result<ImageInfo> (*info)(Bytes bytes);
  // Calls writer.begin once, then writes every row. Orientation is the caller's business.
  Status (*decode)(Bytes bytes, const DecodeOptions& options, PixelWriter& writer);
};

extern const Codec kJpegCodec, kPngCodec, kWebpCodec, kTiffCodec, kBmpCodec, kGifCodec, kPnmCodec;

// The codec whose format the bytes begin with, or an Error that says what they look like.
Result<const Codec*> find_codec(Bytes bytes);

// Checks a size from a header: positive, and within max_pixels.
Status check_size(std::int64_t width, std::int64_t height, std::int64_t max_pixels);

inline Error corrupt(std::string message) {
  return Error(Code::corrupt, std::move(message));
}
inline Error unsupported(std::string message) {
  return Error(Code::unsupported, std::move(message));
}

inline Bytes as_bytes(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

}  // namespace penstock::media
