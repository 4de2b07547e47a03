// What every image fuzz target does with its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "media/image/codecs.h"
#include "penstock/media.h"

namespace penstock::fuzz {

// Exactly as large as the picture, so that a sanitizer sees one byte too many.
class Pixels final : public PixelTarget {
 public:
  Result<PixelMemory> place(const ImageShape& shape) override {
    bytes_.assign(std::size_t(shape.bytes()), 0);
    return PixelMemory{bytes_.data(), std::ptrdiff_t(shape.row_bytes())};
  }

 private:
  std::vector<std::uint8_t> bytes_;
};

// The codec itself, whatever the bytes begin with, in every mode; small pictures only, for speed.
inline int decode(const media::Codec& codec, const std::uint8_t* data, std::size_t size) {
  const media::Bytes bytes(data, size);
  (void)codec.sniff(bytes);
  (void)codec.info(bytes);
  DecodeOptions options;
  options.max_pixels = 1 << 15;
  for (const PixelMode mode : {PixelMode::rgb, PixelMode::unchanged}) {
    options.mode = mode;
    options.strict = mode == PixelMode::unchanged;
    Pixels pixels;
    media::PixelWriter writer(mode, pixels);
    (void)codec.decode(bytes, options, writer);
  }
  return 0;
}

}  // namespace penstock::fuzz
