// DType: the element types of a Tensor, with their names, sizes and C++ types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "penstock/error.h"

namespace penstock {

enum class DType : std::uint8_t {
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
};

std::size_t size_of(DType dtype) noexcept;  // bytes of one element
// As NumPy, PyTorch and JAX call it: "bool", "uint8", "bfloat16".
std::string_view name_of(DType dtype) noexcept;
Result<DType> dtype_named(std::string_view name);

// Bit patterns of the types that C++20 has no name for.
struct Float16 {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};

// The DType of a C++ type; a type that is none does not compile.
template <class T>
consteval DType dtype_of() {
  using std::is_same_v;
  if constexpr (is_same_v<T, bool>)
    return DType::boolean;
  else if constexpr (is_same_v<T, std::int8_t>)
    return DType::int8;
  else if constexpr (is_same_v<T, std::int16_t>)
    return DType::int16;
  else if constexpr (is_same_v<T, std::int32_t>)
    return DType::int32;
  else if constexpr (is_same_v<T, std::int64_t>)
    return DType::int64;
  else if constexpr (is_same_v<T, std::uint8_t>)
    return DType::uint8;
  else if constexpr (is_same_v<T, std::uint16_t>)
    return DType::uint16;
  else if constexpr (is_same_v<T, std::uint32_t>)
    return DType::uint32;
  else if constexpr (is_same_v<T, std::uint64_t>)
    return DType::uint64;
  else if constexpr (is_same_v<T, Float16>)
    return DType::float16;
  else if constexpr (is_same_v<T, BFloat16>)
    return DType::bfloat16;
  else if constexpr (is_same_v<T, float>)
    return DType::float32;
  else if constexpr (is_same_v<T, double>)
    return DType::float64;
  else
    static_assert(sizeof(T) == 0, "not an element type of a Tensor");
}

}  // namespace penstock
