// What a filter sees of a sample.
#include "data/row.h"
#include "penstock/dataset.h"

namespace penstock {
namespace {

template <class To>
std::optional<To> single(const Tensor& array) {
  if (array.size() != 1 || array.rank() != 0) return std::nullopt;
  switch (array.dtype()) {
    case DType::boolean:
      return static_cast<To>(*array.data<bool>());
    case DType::uint8:
      return static_cast<To>(*array.data<std::uint8_t>());
    case DType::int8:
      return static_cast<To>(*array.data<std::int8_t>());
    case DType::uint16:
      return static_cast<To>(*array.data<std::uint16_t>());
    case DType::int16:
      return static_cast<To>(*array.data<std::int16_t>());
    case DType::uint32:
      return static_cast<To>(*array.data<std::uint32_t>());
    case DType::int32:
      return static_cast<To>(*array.data<std::int32_t>());
    case DType::uint64:
      return static_cast<To>(*array.data<std::uint64_t>());
    case DType::int64:
      return static_cast<To>(*array.data<std::int64_t>());
    default:
      return std::nullopt;
  }
}

}  // namespace

std::vector<std::string> Sample::fields() const {
  std::vector<std::string> all;
  for (const data::RowField& field : row_->fields) all.push_back(field.name);
  return all;
}

std::optional<RawField> Sample::raw(std::string_view field) const {
  const data::Value* value = row_->find(field);
  if (value == nullptr) return std::nullopt;
  const auto* text = std::get_if<data::Text>(value);
  const data::Bytes* bytes = text != nullptr ? text : std::get_if<data::Bytes>(value);
  if (bytes == nullptr) return std::nullopt;
  return RawField{bytes->bytes, bytes->memory};
}

std::optional<std::int64_t> Sample::integer(std::string_view field) const {
  const data::Value* value = row_->find(field);
  if (value == nullptr) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(value)) return *whole;
  if (const auto* flag = std::get_if<bool>(value)) return *flag ? 1 : 0;
  if (const auto* array = std::get_if<Tensor>(value)) return single<std::int64_t>(*array);
  return std::nullopt;
}

std::optional<double> Sample::number(std::string_view field) const {
  const data::Value* value = row_->find(field);
  if (value == nullptr) return std::nullopt;
  if (const auto* real = std::get_if<double>(value)) return *real;
  if (const auto* array = std::get_if<Tensor>(value); array != nullptr && array->rank() == 0) {
    if (array->dtype() == DType::float32) return *array->data<float>();
    if (array->dtype() == DType::float64) return *array->data<double>();
    return single<double>(*array);
  }
  const std::optional<std::int64_t> whole = integer(field);
  return whole ? std::optional<double>(static_cast<double>(*whole)) : std::nullopt;
}

const Tensor* Sample::array(std::string_view field) const noexcept {
  const data::Value* value = row_->find(field);
  return value == nullptr ? nullptr : std::get_if<Tensor>(value);
}

}  // namespace penstock
