// Tensor: an array of one element type, with shape and strides, over a Buffer.
//
// A Tensor is a view and a value: copying it, taking a row or a slice of it, or reshaping it copies
// no elements, and each such view keeps the Buffer alive. Calls that can fail answer with an Error
// that names the argument.
//
// Thread safety: a value, as Buffer is. Views of the same memory may be used from distinct threads;
// whoever writes elements sees to it that nobody else uses these.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "penstock/buffer.h"
#include "penstock/dtype.h"
#include "penstock/error.h"

namespace penstock {

// Up to eight numbers, stored in place: a shape, or strides. One made of more than eight is
// not valid() and is refused by whatever takes it.
class Dims {
 public:
  static constexpr std::size_t max_rank = 8;

  Dims() noexcept = default;
  Dims(std::initializer_list<std::int64_t> values) noexcept  // NOLINT: implicit
      : Dims(std::span(values.begin(), values.size())) {}
  Dims(std::span<const std::int64_t> values) noexcept;  // NOLINT: implicit

  bool valid() const noexcept { return rank_ <= max_rank; }
  std::size_t rank() const noexcept { return rank_; }
  std::int64_t* data() noexcept { return values_.data(); }
  const std::int64_t* data() const noexcept { return values_.data(); }
  std::int64_t& operator[](std::size_t i) noexcept { return values_[i]; }
  std::int64_t operator[](std::size_t i) const noexcept { return values_[i]; }
  const std::int64_t* begin() const noexcept { return values_.data(); }
  const std::int64_t* end() const noexcept { return values_.data() + (valid() ? rank_ : 0); }
  bool operator==(const Dims& other) const noexcept;
  std::string to_string() const;  // "(2, 3)"

 private:
  std::array<std::int64_t, max_rank> values_{};
  std::size_t rank_ = 0;
};

class Tensor {
 public:
  static constexpr std::size_t max_rank = Dims::max_rank;

  Tensor() noexcept = default;  // an empty one-dimensional tensor of uint8 that has no memory

  // Uninitialised memory: from a pool, from a reservation, or of its own.
  static Result<Tensor> empty(BufferPool& pool, DType dtype, const Dims& shape);
  static Result<Tensor> empty(Reservation& reservation, DType dtype, const Dims& shape);
  static Result<Tensor> empty(DType dtype, const Dims& shape);
  // A view of `buffer` that begins `offset` bytes into it. Strides count elements and may be 0 or
  // negative; without strides the elements lie side by side, the last dimension fastest. Fails if
  // an element would lie outside the buffer or off its natural alignment.
  static Result<Tensor> over(Buffer buffer, DType dtype, const Dims& shape, std::size_t offset = 0);
  static Result<Tensor> over(Buffer buffer, DType dtype, const Dims& shape, const Dims& strides,
                             std::size_t offset);
  // The bytes that empty() takes for a shape: what to reserve for it.
  static Result<std::size_t> bytes_for(DType dtype, const Dims& shape);

  DType dtype() const noexcept { return dtype_; }
  std::size_t rank() const noexcept { return shape_.rank(); }
  const Dims& shape() const noexcept { return shape_; }
  const Dims& strides() const noexcept { return strides_; }  // in elements
  std::int64_t size() const noexcept;                        // number of elements
  std::size_t nbytes() const noexcept { return static_cast<std::size_t>(size()) * size_of(dtype_); }
  // True if the elements lie side by side, the last dimension fastest.
  bool is_contiguous() const noexcept;
  bool read_only() const noexcept { return buffer_.read_only(); }
  const Buffer& buffer() const noexcept { return buffer_; }

  // The first element; null if there is no memory. data<T>() is null also if T is not the dtype.
  std::byte* raw() const noexcept { return buffer_ ? buffer_.data() + offset_ : nullptr; }
  template <class T>
  T* data() const noexcept {
    return dtype_of<T>() == dtype_ ? reinterpret_cast<T*>(raw()) : nullptr;
  }

  // Views. row(i) is the i-th part along the first dimension, one dimension less. slice keeps
  // elements start, start + step, ... before stop of one dimension.
  Result<Tensor> row(std::int64_t i) const;
  Result<Tensor> slice(std::size_t dimension, std::int64_t start, std::int64_t stop,
                       std::int64_t step = 1) const;
  // The same elements in the same order under another shape; one extent may be -1: whatever is
  // left. Fails with unsupported if the strides do not allow it without a copy.
  Result<Tensor> reshape(const Dims& shape) const;
  // The elements side by side in memory of their own.
  Result<Tensor> clone() const;

 private:
  Tensor(Buffer buffer, DType dtype, const Dims& shape, const Dims& strides, std::size_t offset)
      : buffer_(std::move(buffer)),
        dtype_(dtype),
        shape_(shape),
        strides_(strides),
        offset_(offset) {}

  Buffer buffer_;
  DType dtype_ = DType::uint8;
  Dims shape_{0};
  Dims strides_{1};
  std::size_t offset_ = 0;  // bytes
};

}  // namespace penstock
