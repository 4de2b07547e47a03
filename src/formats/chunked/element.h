// Element: what an array holds. Numbers that a Tensor has, or anything else that NumPy describes.
#pragma once

#include <bit>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/dtype.h"
#include "penstock/error.h"

namespace penstock::formats::chunked {

// A part of an element that is text: it ends at the first null byte, or else before the spaces at
// its end. NumPy takes it to end before the nulls at its end.
struct Text {
  std::size_t offset = 0, bytes = 0;
  bool spaces = false;
};

struct Element {
  std::string descr;           // as NumPy writes it: "<f4", or a literal for records
  std::optional<DType> dtype;  // if a Tensor can hold it
  std::size_t bytes = 0;
  bool swap = false;  // numbers are stored in the other byte order; only where there is a dtype
  std::vector<Text> texts;
};

inline constexpr std::size_t kMostElementBytes = std::size_t(1) << 20;

// "<f4", ">i2", "|S5", "<U3", "<M8[ns]", "|V4", "<c8": all but objects.
Result<Element> element_of(std::string_view descr);

// The bit pattern of a number of a real type, rounded as a cast in NumPy does.
std::vector<std::byte> number_bytes(DType dtype, double value);
// The lowest bits, as many as the type has.
std::vector<std::byte> integer_bytes(DType dtype, std::uint64_t bits);

// From elements as they are stored to what this machine and NumPy have: byte order, ends of texts.
void settle(std::span<std::byte> elements, const Element& element) noexcept;

// Every `item` bytes the other way round. Item is 2, 4 or 8; others stay as they are.
void swap_bytes(std::span<std::byte> bytes, std::size_t item) noexcept;

}  // namespace penstock::formats::chunked
