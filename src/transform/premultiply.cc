#include "transform/premultiply.h"

#include <algorithm>

namespace penstock {
namespace {

// Rounded a * b / 255.
std::uint8_t multiply(unsigned a, unsigned b) {
  const unsigned product = a * b + 128;
  return static_cast<std::uint8_t>(((product >> 8) + product) >> 8);
}

}  // namespace

void premultiply(const std::uint8_t* from, std::int64_t pixels, int channels, std::uint8_t* to) {
  const int alpha_at = channels - 1;
  for (std::int64_t x = 0; x < pixels; ++x, from += channels, to += channels) {
    const std::uint8_t alpha = from[alpha_at];
    for (int c = 0; c < alpha_at; ++c) to[c] = multiply(from[c], alpha);
    to[alpha_at] = alpha;
  }
}

void unpremultiply(const std::uint8_t* from, std::int64_t pixels, int channels, std::uint8_t* to) {
  const int alpha_at = channels - 1;
  for (std::int64_t x = 0; x < pixels; ++x, from += channels, to += channels) {
    const unsigned alpha = from[alpha_at];
    for (int c = 0; c < alpha_at; ++c) {
      to[c] = alpha == 0 || alpha == 255
                  ? from[c]
                  : static_cast<std::uint8_t>(std::min(255u * from[c] / alpha, 255u));
    }
    to[alpha_at] = static_cast<std::uint8_t>(alpha);
  }
}

}  // namespace penstock
