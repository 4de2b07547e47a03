#include "core/feistel.h"

#include <bit>

#include "penstock/random.h"

namespace penstock::detail {
namespace {

constexpr std::uint32_t fold(std::uint32_t x, std::uint32_t m) noexcept {
  const std::uint64_t product = std::uint64_t{x} * m;
  return static_cast<std::uint32_t>(product >> 32) ^ static_cast<std::uint32_t>(product);
}

constexpr std::uint32_t round_function(std::uint32_t x, Feistel::RoundKey key) noexcept {
  return fold(fold(x ^ key.a, kFeistelM1) ^ key.b, kFeistelM2);
}

struct Parts {
  Parts(const Feistel& feistel, std::uint64_t value) noexcept
      : shift(low_bits(feistel.bits)),
        low_mask(static_cast<std::uint32_t>((std::uint64_t{1} << shift) - 1)),
        high_mask(static_cast<std::uint32_t>((std::uint64_t{1} << high_bits(feistel.bits)) - 1)),
        low(static_cast<std::uint32_t>(value) & low_mask),
        high(static_cast<std::uint32_t>(value >> shift)) {}

  void round(int r, Feistel::RoundKey key) noexcept {
    if (r % 2 == 0) {
      high ^= round_function(low, key) & high_mask;
    } else {
      low ^= round_function(high, key) & low_mask;
    }
  }
  std::uint64_t joined() const noexcept { return std::uint64_t{high} << shift | low; }

  int shift;
  std::uint32_t low_mask, high_mask, low, high;
};

}  // namespace

Feistel make_feistel(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch,
                     std::uint64_t stream) noexcept {
  Feistel feistel;
  feistel.bits = std::bit_width(n - 1);
  feistel.rounds = feistel_rounds(feistel.bits);
  const auto outer = RandomKey(seed, epoch).words();
  RandomStream words(RandomKey(outer[0] | std::uint64_t{outer[1]} << 32, n), stream);
  for (int r = 0; r < feistel.rounds; ++r) {
    feistel.keys[r].a = words.bits32();
    feistel.keys[r].b = words.bits32();
  }
  return feistel;
}

std::uint64_t mix(const Feistel& feistel, std::uint64_t value) noexcept {
  Parts parts(feistel, value);
  for (int r = 0; r < feistel.rounds; ++r) parts.round(r, feistel.keys[r]);
  return parts.joined();
}

std::uint64_t unmix(const Feistel& feistel, std::uint64_t value) noexcept {
  Parts parts(feistel, value);
  for (int r = feistel.rounds; r-- > 0;) parts.round(r, feistel.keys[r]);
  return parts.joined();
}

}  // namespace penstock::detail
