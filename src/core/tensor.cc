// Making tensors and checking that they lie inside their memory. Views are in tensor_views.cc.
#include "penstock/tensor.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

// Strides of elements that lie side by side.
Dims dense_strides(const Dims& shape) noexcept {
  Dims strides = shape;
  std::int64_t step = 1;
  for (std::size_t d = shape.rank(); d-- > 0;) {
    strides[d] = step;
    step *= std::max<std::int64_t>(shape[d], 1);
  }
  return strides;
}

Error bad_rank(const char* argument, const Dims& dims) {
  return Error(Code::invalid_argument, std::string(argument) + " has " +
                                           std::to_string(dims.rank()) +
                                           " dimensions; a tensor has at most 8");
}

// Checks a shape and counts its elements. The product of all extents but zeros must fit too: the
// strides of an empty tensor are made of it.
Result<std::int64_t> count_elements(const Dims& shape) {
  if (!shape.valid()) return bad_rank("shape", shape);
  std::int64_t count = 1;
  bool empty = false;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (shape[d] < 0) {
      return Error(Code::invalid_argument,
                   "shape[" + std::to_string(d) + "] is negative in " + shape.to_string());
    }
    empty = empty || shape[d] == 0;
    if (__builtin_mul_overflow(count, std::max<std::int64_t>(shape[d], 1), &count)) {
      return Error(Code::out_of_range, "shape " + shape.to_string() + " has too many elements");
    }
  }
  return empty ? 0 : count;
}

}  // namespace

Dims::Dims(std::span<const std::int64_t> values) noexcept : rank_(values.size()) {
  std::copy_n(values.begin(), std::min(values.size(), max_rank), values_.begin());
}

bool Dims::operator==(const Dims& other) const noexcept {
  return rank_ == other.rank_ && std::equal(begin(), end(), other.begin());
}

std::string Dims::to_string() const {
  std::string text = "(";
  for (const std::int64_t value : *this) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(value);
  }
  if (rank_ == 1) text += ',';
  return text += ')';
}

Result<std::size_t> Tensor::bytes_for(DType dtype, const Dims& shape) {
  auto count = count_elements(shape);
  if (!count.ok()) return std::move(count).error();
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(*count), size_of(dtype), &bytes)) {
    return Error(Code::out_of_range, "shape " + shape.to_string() + " has too many bytes");
  }
  return bytes;
}

namespace {

// The steps that all three forms of Tensor::empty share; `allocate` gives the memory.
template <class Allocate>
Result<Tensor> make_empty(DType dtype, const Dims& shape, Allocate allocate) {
  auto bytes = Tensor::bytes_for(dtype, shape);
  if (!bytes.ok()) return std::move(bytes).error();
  Result<Buffer> buffer = allocate(*bytes);
  if (!buffer.ok()) return std::move(buffer).error();
  return Tensor::over(*std::move(buffer), dtype, shape);
}

}  // namespace

Result<Tensor> Tensor::empty(BufferPool& pool, DType dtype, const Dims& shape) {
  return make_empty(dtype, shape, [&](std::size_t bytes) { return pool.allocate(bytes); });
}

Result<Tensor> Tensor::empty(Reservation& reservation, DType dtype, const Dims& shape) {
  return make_empty(dtype, shape, [&](std::size_t bytes) { return reservation.allocate(bytes); });
}

Result<Tensor> Tensor::empty(DType dtype, const Dims& shape) {
  return make_empty(dtype, shape, [](std::size_t bytes) { return Buffer::allocate(bytes); });
}

Result<Tensor> Tensor::over(Buffer buffer, DType dtype, const Dims& shape, std::size_t offset) {
  auto count = count_elements(shape);
  if (!count.ok()) return std::move(count).error();
  return over(std::move(buffer), dtype, shape, dense_strides(shape), offset);
}

Result<Tensor> Tensor::over(Buffer buffer, DType dtype, const Dims& shape, const Dims& strides,
                            std::size_t offset) {
  auto count = count_elements(shape);
  if (!count.ok()) return std::move(count).error();
  if (!strides.valid()) return bad_rank("strides", strides);
  if (strides.rank() != shape.rank()) {
    return Error(Code::invalid_argument, "strides " + strides.to_string() + " and shape " +
                                             shape.to_string() + " differ in length");
  }
  const auto outside = [&] {
    return Error(Code::out_of_range, "shape " + shape.to_string() + " with strides " +
                                         strides.to_string() + " and offset " +
                                         std::to_string(offset) + " of " +
                                         std::string(name_of(dtype)) + " leaves its buffer of " +
                                         std::to_string(buffer.size()) + " bytes");
  };
  if (offset > buffer.size()) return outside();
  if (*count > 0) {
    // Elements before and after the first one, at most.
    std::int64_t before = 0, after = 0;
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      std::int64_t reach = 0;
      std::int64_t& side = strides[d] < 0 ? before : after;
      if (__builtin_mul_overflow(shape[d] - 1, strides[d], &reach) ||
          __builtin_add_overflow(side, reach, &side)) {
        return outside();
      }
    }
    const auto element = static_cast<std::int64_t>(size_of(dtype));
    const auto first = static_cast<std::int64_t>(offset);
    const auto end = static_cast<std::int64_t>(buffer.size());
    if (before < -(first / element) || after >= (end - first) / element) return outside();
    const auto address = reinterpret_cast<std::uintptr_t>(buffer.data()) + offset;
    if (address % size_of(dtype) != 0) {
      return Error(Code::invalid_argument,
                   "offset " + std::to_string(offset) + " is not aligned for elements of " +
                       std::string(name_of(dtype)) + "; copy the bytes to a buffer of their own");
    }
  }
  return Tensor(std::move(buffer), dtype, shape, strides, offset);
}

std::int64_t Tensor::size() const noexcept {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape_) count *= extent;
  return count;
}

bool Tensor::is_contiguous() const noexcept {
  std::int64_t step = 1;
  bool dense = true;
  for (std::size_t d = rank(); d-- > 0;) {
    if (shape_[d] == 0) return true;
    if (shape_[d] > 1 && strides_[d] != step) dense = false;
    step *= shape_[d];
  }
  return dense;
}

}  // namespace penstock
