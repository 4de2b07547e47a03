#include "media/image/tiff_samples.h"

#include <tiff.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>

namespace penstock::media {
namespace {

// Samples that carry the colour itself.
int colour_samples(int photometric) {
  switch (photometric) {
    case PHOTOMETRIC_RGB:
      return 3;
    case PHOTOMETRIC_SEPARATED:
      return 4;
    default:
      return 1;
  }
}

// Pillow takes a fourth sample of RGB for alpha when nothing is said about it.
bool has_alpha(const TiffLayout& layout) {
  if (layout.photometric == PHOTOMETRIC_SEPARATED) return false;
  if (layout.samples <= colour_samples(layout.photometric)) return false;
  if (layout.photometric == PHOTOMETRIC_RGB && layout.extra == -1) return true;
  return layout.extra == EXTRASAMPLE_ASSOCALPHA || layout.extra == EXTRASAMPLE_UNASSALPHA ||
         layout.extra == 999;  // Corel Draw 10
}

// Colours stored multiplied by alpha, made plain as Pillow does it.
template <class Sample>
void divide_by_alpha(std::uint8_t* row, std::int64_t width, int colours) {
  constexpr std::uint64_t kMost = std::numeric_limits<Sample>::max();
  std::array<Sample, 4> pixel;
  const std::size_t bytes = sizeof(Sample) * std::size_t(colours + 1);
  for (std::int64_t x = 0; x < width; ++x, row += bytes) {
    std::memcpy(pixel.data(), row, bytes);
    const std::uint64_t alpha = pixel[std::size_t(colours)];
    for (std::size_t c = 0; c < std::size_t(colours); ++c) {
      pixel[c] = alpha == 0 ? 0 : Sample(std::min(kMost, kMost * pixel[c] / alpha));
    }
    std::memcpy(row, pixel.data(), bytes);
  }
}

// The upper halves of 16-bit samples.
void take_upper(const std::uint8_t* samples, std::size_t step, std::int64_t width, int channels,
                std::uint8_t* to) {
  for (std::int64_t x = 0; x < width; ++x, samples += step) {
    for (int c = 0; c < channels; ++c) {
      std::uint16_t sample;
      std::memcpy(&sample, samples + std::size_t(c) * 2, 2);
      *to++ = std::uint8_t(sample >> 8);
    }
  }
}

}  // namespace

Result<Native> tiff_native(const TiffLayout& layout, PixelMode mode) {
  const int bits = layout.bits;
  const int colours = colour_samples(layout.photometric);
  const bool alpha = has_alpha(layout);
  const auto unknown = [&] {
    return Error(Code::unsupported, "TIFF: " + std::to_string(layout.samples) + " samples of " +
                                        std::to_string(bits) + " bits, photometric " +
                                        std::to_string(layout.photometric));
  };
  if (layout.samples < colours || layout.samples > 8) return unknown();
  if (bits != 1 && bits != 2 && bits != 4 && bits != 8 && bits != 16) return unknown();
  switch (layout.photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
      if (bits < 8 && layout.samples > 1) return unknown();
      if (bits == 16) return alpha ? Native::la16 : Native::l16;
      return alpha ? Native::la : Native::l;
    case PHOTOMETRIC_PALETTE:
      if (bits == 16 || (bits < 8 && layout.samples > 1)) return unknown();
      if (mode == PixelMode::index) return Native::l;
      return alpha ? Native::rgba : Native::rgb;
    case PHOTOMETRIC_RGB:
      if (bits < 8) return unknown();
      // Colours that are multiplied by alpha are divided by it in 8 bits, as Pillow does it.
      if (bits == 16 && (mode == PixelMode::unchanged || layout.extra != EXTRASAMPLE_ASSOCALPHA)) {
        return alpha ? Native::rgba16 : Native::rgb16;
      }
      return alpha ? Native::rgba : Native::rgb;
    case PHOTOMETRIC_SEPARATED:
      if (bits < 8) return unknown();
      return bits == 16 ? Native::cmyk16 : Native::cmyk;
    default:
      return unknown();
  }
}

void unpack_tiff_samples(const std::uint8_t* from, const TiffLayout& layout, int plane,
                         std::uint8_t* to) noexcept {
  const std::int64_t count = layout.width * (layout.separate ? 1 : layout.samples);
  const std::size_t bytes = std::size_t(layout.sample_bytes());
  if (layout.bits >= 8 && !layout.separate) {
    std::memcpy(to, from, std::size_t(count) * bytes);
    return;
  }
  const std::size_t step = layout.separate ? bytes * std::size_t(layout.samples) : 1;
  to += bytes * std::size_t(plane);
  if (layout.bits >= 8) {
    for (std::int64_t i = 0; i < count; ++i, to += step) {
      std::memcpy(to, from + std::size_t(i) * bytes, bytes);
    }
    return;
  }
  const int per_byte = 8 / layout.bits, mask = (1 << layout.bits) - 1;
  for (std::int64_t i = 0; i < count; ++i, to += step) {
    *to = std::uint8_t(from[i / per_byte] >> (8 - layout.bits * int(i % per_byte + 1)) & mask);
  }
}

void assemble_tiff_row(const std::uint8_t* samples, const TiffLayout& layout, Native native,
                       std::uint8_t* to) noexcept {
  const std::size_t bytes = std::size_t(layout.sample_bytes());
  const std::size_t step = bytes * std::size_t(layout.samples);
  if (layout.photometric == PHOTOMETRIC_PALETTE && native != Native::l) {
    const bool alpha = native == Native::rgba;
    for (std::int64_t x = 0; x < layout.width; ++x, samples += step, to += alpha ? 4 : 3) {
      std::memcpy(to, &layout.palette[std::size_t(samples[0]) * 3], 3);
      if (alpha) to[3] = samples[1];
    }
    return;
  }
  const int channels = channels_of(native);
  const std::size_t pixel = bytes * std::size_t(channels);
  if (bytes == 2 && native == Native::rgba) {
    take_upper(samples, step, layout.width, channels, to);
  } else {
    for (std::int64_t x = 0; x < layout.width; ++x) {
      std::memcpy(to + std::size_t(x) * pixel, samples + std::size_t(x) * step, pixel);
    }
  }
  // 16-bit min-is-white is not inverted, nor by Pillow.
  const bool grey = native == Native::l || native == Native::la;
  if (grey && layout.photometric != PHOTOMETRIC_PALETTE) {
    const int scale = 255 / ((1 << layout.bits) - 1);
    const bool invert = layout.photometric == PHOTOMETRIC_MINISWHITE;
    for (std::int64_t x = 0; x < layout.width; ++x) {
      std::uint8_t* grey = to + x * channels;
      *grey = std::uint8_t(invert ? 255 - *grey * scale : *grey * scale);
    }
  }
  if (layout.extra != EXTRASAMPLE_ASSOCALPHA) return;
  if (native == Native::la || native == Native::rgba) {
    divide_by_alpha<std::uint8_t>(to, layout.width, channels - 1);
  } else if (native == Native::la16 || native == Native::rgba16) {
    divide_by_alpha<std::uint16_t>(to, layout.width, channels - 1);
  }
}

}  // namespace penstock::media
