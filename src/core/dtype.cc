#include "penstock/dtype.h"

#include <array>
#include <string>

namespace penstock {
namespace {

struct Row {
  std::string_view name;
  std::size_t size;
};

constexpr std::array<Row, 13> kTable = {{
    {"bool", 1},
    {"int8", 1},
    {"int16", 2},
    {"int32", 4},
    {"int64", 8},
    {"uint8", 1},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
    {"float16", 2},
    {"bfloat16", 2},
    {"float32", 4},
    {"float64", 8},
}};
static_assert(kTable.size() == static_cast<std::size_t>(DType::float64) + 1);

}  // namespace

std::size_t size_of(DType dtype) noexcept {
  return kTable[static_cast<std::size_t>(dtype)].size;
}

std::string_view name_of(DType dtype) noexcept {
  return kTable[static_cast<std::size_t>(dtype)].name;
}

Result<DType> dtype_named(std::string_view name) {
  std::string known;
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (kTable[i].name == name) return static_cast<DType>(i);
    known.append(i > 0 ? ", " : "").append(kTable[i].name);
  }
  std::string message = "dtype '";
  message.append(name).append("' is not one of ").append(known);
  return Error(Code::invalid_argument, std::move(message));
}

}  // namespace penstock
