// The x86 instruction takes three cycles for eight bytes but a new one can begin in each cycle:
// long blocks are read as three strands side by side, whose checksums are joined in the end.
// Joining is a multiplication in GF(2)[x] modulo the polynomial; for the two strand lengths it
// comes from tables.
#include "formats/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace penstock::formats {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // bits reversed: the highest bit is x^0

// a * b modulo the polynomial.
constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t sum = 0;
  for (std::uint32_t bit = 0x80000000; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) sum ^= b;
    b = (b & 1) != 0 ? (b >> 1) ^ kPolynomial : b >> 1;
  }
  return sum;
}

// x^(8 * bytes): what a checksum is multiplied with when so many bytes follow.
constexpr std::uint32_t power(std::size_t bytes) noexcept {
  std::uint32_t result = 0x80000000, square = 0x00800000;  // x^0, x^8
  for (; bytes != 0; bytes >>= 1) {
    if ((bytes & 1) != 0) result = product(result, square);
    square = product(square, square);
  }
  return result;
}

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_portable_tables() noexcept {
  Tables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int k = 0; k < 8; ++k) crc = (crc & 1) != 0 ? (crc >> 1) ^ kPolynomial : crc >> 1;
    tables[0][i] = crc;
  }
  for (std::size_t t = 1; t < 8; ++t) {
    for (std::size_t i = 0; i < 256; ++i) {
      const std::uint32_t crc = tables[t - 1][i];
      tables[t][i] = tables[0][crc & 0xff] ^ (crc >> 8);
    }
  }
  return tables;
}
constexpr Tables kPortable = make_portable_tables();

std::uint64_t load64(const std::byte* at) noexcept {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

#if defined(__x86_64__)

// Multiplies by a fixed power, a byte at a time.
class Shift {
 public:
  constexpr explicit Shift(std::size_t bytes) noexcept {
    const std::uint32_t factor = power(bytes);
    for (std::size_t k = 0; k < 4; ++k) {
      table_[k][0] = 0;
      for (std::uint32_t bit = 1; bit < 256; bit <<= 1) {
        const std::uint32_t value = product(factor, bit << (8 * k));
        for (std::uint32_t i = 0; i < bit; ++i) table_[k][bit + i] = table_[k][i] ^ value;
      }
    }
  }
  std::uint32_t operator()(std::uint32_t crc) const noexcept {
    return table_[0][crc & 0xff] ^ table_[1][crc >> 8 & 0xff] ^ table_[2][crc >> 16 & 0xff] ^
           table_[3][crc >> 24];
  }

 private:
  std::array<std::array<std::uint32_t, 256>, 4> table_{};
};

constexpr std::size_t kLong = 4096, kShort = 256;  // bytes of a strand
constexpr Shift kShiftLong(kLong), kShiftShort(kShort);

template <std::size_t strand>
__attribute__((target("sse4.2"))) std::uint64_t three_strands(const std::byte*& at,
                                                              std::size_t& left, std::uint64_t crc,
                                                              const Shift& shift) noexcept {
  while (left >= 3 * strand) {
    std::uint64_t second = 0, third = 0;
    for (const std::byte* end = at + strand; at < end; at += 8) {
      crc = _mm_crc32_u64(crc, load64(at));
      second = _mm_crc32_u64(second, load64(at + strand));
      third = _mm_crc32_u64(third, load64(at + 2 * strand));
    }
    crc = shift(std::uint32_t(crc)) ^ second;
    crc = shift(std::uint32_t(crc)) ^ third;
    at += 2 * strand;
    left -= 3 * strand;
  }
  return crc;
}

__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(std::span<const std::byte> bytes,
                                                             std::uint32_t before) noexcept {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t crc = before ^ 0xffffffff;
  crc = three_strands<kLong>(at, left, crc, kShiftLong);
  crc = three_strands<kShort>(at, left, crc, kShiftShort);
  for (; left >= 8; at += 8, left -= 8) crc = _mm_crc32_u64(crc, load64(at));
  auto rest = std::uint32_t(crc);
  for (; left > 0; ++at, --left) rest = _mm_crc32_u8(rest, std::uint8_t(*at));
  return rest ^ 0xffffffff;
}

#endif

using Function = std::uint32_t (*)(std::span<const std::byte>, std::uint32_t) noexcept;

Function best() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return crc32c_sse42;
#endif
  return crc32c_portable;
}

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
  static const Function function = best();
  return function(bytes, before);
}

std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint32_t crc = before ^ 0xffffffff;
  for (; left >= 8; at += 8, left -= 8) {
    const std::uint64_t word = load64(at) ^ crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= kPortable[7 - k][word >> (8 * k) & 0xff];
  }
  for (; left > 0; ++at, --left) crc = kPortable[0][(crc ^ std::uint32_t(*at)) & 0xff] ^ (crc >> 8);
  return crc ^ 0xffffffff;
}

}  // namespace penstock::formats
