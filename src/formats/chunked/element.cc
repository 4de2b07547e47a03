#include "formats/chunked/element.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <span>

namespace penstock::formats::chunked {
namespace {

struct Kind {
  char letter;
  std::size_t bytes;
  DType dtype;
};

constexpr Kind kKinds[] = {
    {'b', 1, DType::boolean}, {'i', 1, DType::int8},    {'i', 2, DType::int16},
    {'i', 4, DType::int32},   {'i', 8, DType::int64},   {'u', 1, DType::uint8},
    {'u', 2, DType::uint16},  {'u', 4, DType::uint32},  {'u', 8, DType::uint64},
    {'f', 2, DType::float16}, {'f', 4, DType::float32}, {'f', 8, DType::float64},
};

Error unknown(std::string_view descr) {
  return Error(Code::unsupported, "elements of type " + std::string(descr) + " cannot be read");
}

// The nearest number of 16 bits, ties to even.
std::uint16_t half_of(double value) noexcept {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | 0x7e00;
  const double size = std::fabs(value);
  if (size >= 65520) return sign | 0x7c00;
  int exponent = 0;
  std::frexp(size, &exponent);
  exponent = std::max(exponent, -13);  // below: subnormal
  const auto steps = std::uint32_t(std::nearbyint(std::ldexp(size, 11 - exponent)));
  if (steps < 1024) return std::uint16_t(sign | steps);
  return std::uint16_t(sign | ((std::uint32_t(exponent + 13) << 10) + steps));
}

template <class T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

}  // namespace

Result<Element> element_of(std::string_view descr) {
  Element element;
  element.descr = descr;
  if (descr.size() < 3) return unknown(descr);
  const char order = descr[0], letter = descr[1];
  const char* end = descr.data() + descr.size();
  const auto [rest, failure] = std::from_chars(descr.data() + 2, end, element.bytes);
  if (failure != std::errc() || std::string_view("<>|=").find(order) == std::string_view::npos) {
    return unknown(descr);
  }
  if (letter == 'U') {
    if (element.bytes > kMostElementBytes / 4) return unknown(descr);
    element.bytes *= 4;
  }
  const bool date = letter == 'M' || letter == 'm';
  if (element.bytes == 0 || element.bytes > kMostElementBytes || (rest != end && !date)) {
    return unknown(descr);
  }
  const bool has_unit = rest != end;
  if (date && (element.bytes != 8 || (has_unit && *rest != '['))) return unknown(descr);
  for (const Kind& kind : kKinds) {
    if (kind.letter == letter && kind.bytes == element.bytes) element.dtype = kind.dtype;
  }
  if (!element.dtype && std::string_view("cSUVMmf").find(letter) == std::string_view::npos) {
    return unknown(descr);
  }
  element.swap = element.dtype && order == '>' && element.bytes > 1;
  return element;
}

std::vector<std::byte> number_bytes(DType dtype, double value) {
  switch (dtype) {
    case DType::float16:
      return bytes_of(half_of(value));
    case DType::bfloat16: {
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
      const std::uint32_t odd = (bits >> 16) & 1;
      return bytes_of(std::uint16_t(std::isnan(value) ? 0x7fc0 : (bits + 0x7fff + odd) >> 16));
    }
    case DType::float32:
      return bytes_of(static_cast<float>(value));
    default:
      return bytes_of(value);
  }
}

std::vector<std::byte> integer_bytes(DType dtype, std::uint64_t bits) {
  std::vector<std::byte> bytes = bytes_of(bits);
  if (std::endian::native == std::endian::big) swap_bytes(bytes, 8);
  bytes.resize(size_of(dtype));
  if (std::endian::native == std::endian::big) swap_bytes(bytes, bytes.size());
  return bytes;
}

void settle(std::span<std::byte> elements, const Element& element) noexcept {
  if (element.swap) swap_bytes(elements, element.bytes);
  if (element.texts.empty()) return;
  for (; elements.size() >= element.bytes; elements = elements.subspan(element.bytes)) {
    for (const Text& text : element.texts) {
      const std::span<std::byte> all = elements.subspan(text.offset, text.bytes);
      auto end = std::find(all.begin(), all.end(), std::byte(0));
      if (text.spaces) {
        for (end = all.end(); end != all.begin() && *(end - 1) == std::byte(' ');) --end;
      }
      std::fill(end, all.end(), std::byte(0));
    }
  }
}

void swap_bytes(std::span<std::byte> bytes, std::size_t item) noexcept {
  const auto swap_all = [&](auto word, auto swapped) {
    for (std::size_t at = 0; at + item <= bytes.size(); at += item) {
      std::memcpy(&word, bytes.data() + at, item);
      word = swapped(word);
      std::memcpy(bytes.data() + at, &word, item);
    }
  };
  if (item == 2) swap_all(std::uint16_t(), [](std::uint16_t w) { return __builtin_bswap16(w); });
  if (item == 4) swap_all(std::uint32_t(), [](std::uint32_t w) { return __builtin_bswap32(w); });
  if (item == 8) swap_all(std::uint64_t(), [](std::uint64_t w) { return __builtin_bswap64(w); });
}

}  // namespace penstock::formats::chunked
