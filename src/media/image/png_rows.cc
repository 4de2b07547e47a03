#include "media/image/png_rows.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace penstock::media {
namespace {

std::uint16_t big16(const std::uint8_t* p) {
  return std::uint16_t(p[0] << 8 | p[1]);
}
void put16(std::uint8_t* to, std::uint16_t v) {
  std::memcpy(to, &v, 2);
}

// 1, 2 or 4 bits per sample to one value per byte.
void unpack_bits(const std::uint8_t* from, std::int64_t pixels, int depth, std::uint8_t* to) {
  const int mask = (1 << depth) - 1;
  const int per_byte = 8 / depth;
  for (std::int64_t x = 0; x < pixels; x += per_byte, ++from) {
    const std::int64_t here = std::min<std::int64_t>(per_byte, pixels - x);
    for (std::int64_t k = 0; k < here; ++k) {
      to[x + k] = std::uint8_t(*from >> (8 - depth * int(k + 1)) & mask);
    }
  }
}

void swap_samples(const std::uint8_t* from, std::int64_t samples, std::uint8_t* to) {
  for (std::int64_t i = 0; i < samples; ++i) put16(to + 2 * i, big16(from + 2 * i));
}

// Low-depth samples stay at the row's end while they are spread from its start: every pixel takes
// at least as many bytes in `to` as before, and reading is ahead of writing.
template <class Put>
void spread(const PngFile& file, const std::uint8_t* from, std::int64_t pixels, int out_bytes,
            std::uint8_t* to, Put put) {
  const std::uint8_t* values = from;
  if (file.depth < 8) {
    std::uint8_t* tail = to + pixels * (out_bytes - 1);
    unpack_bits(from, pixels, file.depth, tail);
    values = tail;
  }
  for (std::int64_t x = 0; x < pixels; ++x) put(values[x], to + x * out_bytes);
}

void expand_grey(const PngFile& file, bool alpha, const std::uint8_t* from, std::int64_t pixels,
                 std::uint8_t* to) {
  const std::uint8_t scale = std::uint8_t(255 / ((1 << file.depth) - 1));
  const int clear = file.transparent[0];
  if (alpha) {
    spread(file, from, pixels, 2, to, [=](std::uint8_t v, std::uint8_t* p) {
      p[0] = std::uint8_t(v * scale), p[1] = v == clear ? 0 : 255;
    });
  } else if (file.depth == 8) {
    std::memcpy(to, from, std::size_t(pixels));
  } else {
    spread(file, from, pixels, 1, to,
           [=](std::uint8_t v, std::uint8_t* p) { p[0] = std::uint8_t(v * scale); });
  }
}

void expand_grey16(const PngFile& file, Native native, const std::uint8_t* from,
                   std::int64_t pixels, std::uint8_t* to) {
  if (native == Native::l16) return swap_samples(from, pixels, to);
  for (std::int64_t x = 0; x < pixels; ++x) {
    const std::uint16_t v = big16(from + 2 * x);
    const bool clear = v == file.transparent[0];
    if (native == Native::la16) {
      put16(to + 4 * x, v), put16(to + 4 * x + 2, clear ? 0 : 65535);
    } else {  // la: clipped, as single 16-bit grey is
      to[2 * x] = std::uint8_t(std::min<std::uint16_t>(v, 255)), to[2 * x + 1] = clear ? 0 : 255;
    }
  }
}

void expand_rgb(const PngFile& file, Native native, const std::uint8_t* from, std::int64_t pixels,
                std::uint8_t* to) {
  const auto& clear = file.transparent;
  if (native == Native::rgb) {
    std::memcpy(to, from, std::size_t(pixels * 3));
  } else if (native == Native::rgb16) {
    swap_samples(from, pixels * 3, to);
  } else if (native == Native::rgba) {
    for (std::int64_t x = 0; x < pixels; ++x, from += 3, to += 4) {
      to[0] = from[0], to[1] = from[1], to[2] = from[2];
      to[3] = from[0] == clear[0] && from[1] == clear[1] && from[2] == clear[2] ? 0 : 255;
    }
  } else {
    for (std::int64_t x = 0; x < pixels; ++x, from += 6, to += 8) {
      const std::uint16_t r = big16(from), g = big16(from + 2), b = big16(from + 4);
      put16(to, r), put16(to + 2, g), put16(to + 4, b);
      put16(to + 6, r == clear[0] && g == clear[1] && b == clear[2] ? 0 : 65535);
    }
  }
}

void expand_palette(const PngFile& file, Native native, const std::uint8_t* from,
                    std::int64_t pixels, std::uint8_t* to) {
  if (native == Native::l) {
    return spread(file, from, pixels, 1, to, [](std::uint8_t v, std::uint8_t* p) { *p = v; });
  }
  const std::uint8_t* palette = file.palette.data();
  if (native == Native::rgba) {
    spread(file, from, pixels, 4, to,
           [=](std::uint8_t v, std::uint8_t* p) { std::memcpy(p, palette + v * 4, 4); });
  } else {
    spread(file, from, pixels, 3, to,
           [=](std::uint8_t v, std::uint8_t* p) { std::memcpy(p, palette + v * 4, 3); });
  }
}

}  // namespace

Native png_native(const PngFile& file, PixelMode mode) noexcept {
  const bool deep = file.depth == 16;
  const bool alpha =
      file.has_transparency && (mode == PixelMode::rgba || mode == PixelMode::unchanged);
  switch (file.colour) {
    case PngColour::grey:
      if (!alpha) return deep ? Native::l16 : Native::l;
      return deep && mode == PixelMode::unchanged ? Native::la16 : Native::la;
    case PngColour::rgb:
      if (!alpha) return deep ? Native::rgb16 : Native::rgb;
      return deep ? Native::rgba16 : Native::rgba;
    case PngColour::palette:
      if (mode == PixelMode::index) return Native::l;
      return alpha ? Native::rgba : Native::rgb;
    case PngColour::grey_alpha:
      return deep ? Native::la16 : Native::la;
    case PngColour::rgba:
      return deep ? Native::rgba16 : Native::rgba;
  }
  return Native::rgb;
}

void expand_png_row(const PngFile& file, Native native, const std::uint8_t* from,
                    std::int64_t pixels, std::uint8_t* to) noexcept {
  switch (file.colour) {
    case PngColour::grey:
      if (file.depth == 16) return expand_grey16(file, native, from, pixels, to);
      return expand_grey(file, native == Native::la, from, pixels, to);
    case PngColour::rgb:
      return expand_rgb(file, native, from, pixels, to);
    case PngColour::palette:
      return expand_palette(file, native, from, pixels, to);
    case PngColour::grey_alpha:
    case PngColour::rgba:
      if (file.depth == 16) return swap_samples(from, pixels * file.samples(), to);
      std::memcpy(to, from, std::size_t(pixels * file.samples()));
      return;
  }
}

}  // namespace penstock::media
