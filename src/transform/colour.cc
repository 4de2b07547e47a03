#include "transform/colour.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "transform/grey_kernels.h"
#include "transform/view_checks.h"

namespace penstock {
namespace {

// Rounded a * b / 255.
unsigned multiply(unsigned a, unsigned b) {
  const unsigned product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

struct Rgb {
  std::uint8_t r, g, b;
};

inline std::uint8_t grey_of(Rgb p) {
  const std::uint8_t rgb[] = {p.r, p.g, p.b};
  return luma(rgb);
}

// How each kind of pixel is read.
struct FromL {
  static constexpr int channels = 1;
  static Rgb colour(const std::uint8_t* p) { return {p[0], p[0], p[0]}; }
  static std::uint8_t grey(const std::uint8_t* p) { return p[0]; }
  static std::uint8_t alpha(const std::uint8_t*) { return 255; }
};
struct FromLA : FromL {
  static constexpr int channels = 2;
  static std::uint8_t alpha(const std::uint8_t* p) { return p[1]; }
};
struct FromRgb {
  static constexpr int channels = 3;
  static Rgb colour(const std::uint8_t* p) { return {p[0], p[1], p[2]}; }
  static std::uint8_t grey(const std::uint8_t* p) { return luma(p); }
  static std::uint8_t alpha(const std::uint8_t*) { return 255; }
};
struct FromRgba : FromRgb {
  static constexpr int channels = 4;
  static std::uint8_t alpha(const std::uint8_t* p) { return p[3]; }
};
struct FromBgr : FromRgb {
  static Rgb colour(const std::uint8_t* p) { return {p[2], p[1], p[0]}; }
  static std::uint8_t grey(const std::uint8_t* p) { return grey_of(colour(p)); }
};
struct FromCmyk {
  static constexpr int channels = 4;
  static Rgb colour(const std::uint8_t* p) {
    const unsigned white = 255u - p[3];
    const auto ink = [white](unsigned c) { return std::uint8_t(white - multiply(c, white)); };
    return {ink(p[0]), ink(p[1]), ink(p[2])};
  }
  static std::uint8_t grey(const std::uint8_t* p) { return grey_of(colour(p)); }
  static std::uint8_t alpha(const std::uint8_t*) { return 255; }
};

template <class From>
void convert(const std::uint8_t* __restrict from, std::int64_t pixels, Colour to,
             std::uint8_t* __restrict out) {
  switch (to) {
    case Colour::rgb:
      for (std::int64_t x = 0; x < pixels; ++x, from += From::channels, out += 3) {
        const Rgb p = From::colour(from);
        out[0] = p.r, out[1] = p.g, out[2] = p.b;
      }
      return;
    case Colour::bgr:
      for (std::int64_t x = 0; x < pixels; ++x, from += From::channels, out += 3) {
        const Rgb p = From::colour(from);
        out[0] = p.b, out[1] = p.g, out[2] = p.r;
      }
      return;
    case Colour::rgba:
      for (std::int64_t x = 0; x < pixels; ++x, from += From::channels, out += 4) {
        const Rgb p = From::colour(from);
        out[0] = p.r, out[1] = p.g, out[2] = p.b, out[3] = From::alpha(from);
      }
      return;
    case Colour::l:
      for (std::int64_t x = 0; x < pixels; ++x, from += From::channels) out[x] = From::grey(from);
      return;
    case Colour::la:
      for (std::int64_t x = 0; x < pixels; ++x, from += From::channels, out += 2)
        out[0] = From::grey(from), out[1] = From::alpha(from);
      return;
    case Colour::cmyk:
      return;
  }
}

}  // namespace

int channels_of(Colour colour) noexcept {
  switch (colour) {
    case Colour::l:
      return 1;
    case Colour::la:
      return 2;
    case Colour::rgb:
    case Colour::bgr:
      return 3;
    case Colour::rgba:
    case Colour::cmyk:
      return 4;
  }
  return 0;
}

void convert_row(const std::uint8_t* row, Colour from, std::int64_t pixels, Colour to,
                 std::uint8_t* out) noexcept {
  if (from == to) {
    std::memcpy(out, row, static_cast<std::size_t>(pixels * channels_of(to)));
    return;
  }
  if (to == Colour::l && (from == Colour::rgb || from == Colour::rgba)) {
    return grey_pixels(row, pixels, channels_of(from), out);
  }
  switch (from) {
    case Colour::l:
      return convert<FromL>(row, pixels, to, out);
    case Colour::la:
      return convert<FromLA>(row, pixels, to, out);
    case Colour::rgb:
      return convert<FromRgb>(row, pixels, to, out);
    case Colour::rgba:
      return convert<FromRgba>(row, pixels, to, out);
    case Colour::cmyk:
      return convert<FromCmyk>(row, pixels, to, out);
    case Colour::bgr:
      return convert<FromBgr>(row, pixels, to, out);
  }
}

Status convert_colour(ConstImageView source, Colour from, Colour to, ImageView out) {
  if (Status view = check_view("source", source); !view) return view;
  if (source.channels != channels_of(from)) {
    return Error(Code::invalid_argument, "source has " + std::to_string(source.channels) +
                                             " channels, the conversion takes " +
                                             std::to_string(channels_of(from)));
  }
  if (to == Colour::cmyk) return Error(Code::unsupported, "nothing can be converted to CMYK");
  if (Status shape = check_out(out, source.width, source.height, channels_of(to)); !shape)
    return shape;
  for (std::int64_t y = 0; y < source.height; ++y)
    convert_row(source.row(y), from, source.width, to, out.row(y));
  return {};
}

Status grayscale(ImageView image) {
  if (Status view = check_view("image", image); !view) return view;
  if (image.channels < 3) return {};  // grey already
  constexpr std::int64_t piece = 512;
  std::uint8_t grey[piece * 4];
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; x += piece) {
      const std::int64_t pixels = std::min(piece, image.width - x);
      std::uint8_t* at = image.row(y) + x * image.channels;
      spread_grey(at, pixels, image.channels, grey);
      std::memcpy(at, grey, static_cast<std::size_t>(pixels * image.channels));
    }
  }
  return {};
}

}  // namespace penstock
