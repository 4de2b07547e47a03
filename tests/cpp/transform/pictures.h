// Pictures for the transform tests, drawn from arithmetic so that Pillow can be given the same ones
// (see make_goldens.py), and a hash to compare results by.
#pragma once

#include <cstdint>
#include <vector>

#include "../targets.h"
#include "penstock/image.h"
#include "transform/colour.h"

namespace penstock {

struct Picture {
  std::int64_t height = 0;
  std::int64_t width = 0;
  int channels = 0;
  std::vector<std::uint8_t> bytes;

  Picture(std::int64_t w, std::int64_t h, int c)
      : height(h), width(w), channels(c), bytes(static_cast<std::size_t>(w * h * c)) {}

  ImageView view() { return {bytes.data(), height, width, channels, width * channels}; }
  ConstImageView view() const { return {bytes.data(), height, width, channels, width * channels}; }
  Box whole() const { return {0, 0, double(width), double(height)}; }
};

inline Picture picture(std::int64_t width, std::int64_t height, int channels) {
  Picture made(width, height, channels);
  std::uint32_t state = 12345;
  for (auto& byte : made.bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::uint8_t>(state >> 24);
  }
  return made;
}

inline std::uint64_t fnv(const std::vector<std::uint8_t>& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}

namespace goldens {

struct ResizeCase {
  std::int64_t width, height;
  int channels;
  std::int64_t out_width, out_height;
  Box box;
  Filter filter;
  bool premultiplied;
  std::uint64_t hash;
};
struct EnhanceCase {
  int channels;
  int kind;  // brightness, contrast, saturation
  double factor;
  std::uint64_t hash;
};
struct ColourCase {
  Colour from;
  Colour to;
  std::uint64_t hash;
};
struct OrientationCase {
  int orientation;
  std::uint64_t hash;
};

}  // namespace goldens
}  // namespace penstock

#include "goldens.h"
