// Where decoded pixels go: a new Tensor, or the user's own array.
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include "borrowed.h"
#include "penstock/media.h"
#include "penstock/tensor.h"

namespace penstock::bindings {

// A new Tensor: (height, width) for one channel, (height, width, channels) for more.
class TensorTarget final : public PixelTarget {
 public:
  Result<PixelMemory> place(const ImageShape& shape) override {
    const Dims dims = shape.channels == 1 ? Dims{shape.height, shape.width}
                                          : Dims{shape.height, shape.width, shape.channels};
    Result<Tensor> made = Tensor::empty(shape.bits == 16 ? DType::uint16 : DType::uint8, dims);
    if (!made) return std::move(made).error();
    tensor = *std::move(made);
    return PixelMemory{reinterpret_cast<std::uint8_t*>(tensor.raw()),
                       std::ptrdiff_t(shape.row_bytes())};
  }
  Tensor tensor;
};

// The user's own array, which must have the picture's shape and type and rows without gaps.
class ArrayTarget final : public PixelTarget {
 public:
  explicit ArrayTarget(nanobind::handle array)
      : memory_(array, PyBUF_WRITABLE | PyBUF_STRIDES | PyBUF_FORMAT) {}
  Result<PixelMemory> place(const ImageShape& shape) override {
    const Py_buffer& view = memory_.view();
    const std::int64_t sample = shape.bits / 8;
    const bool flat = view.ndim == 2 && shape.channels == 1;
    const bool fits = (flat || (view.ndim == 3 && view.shape[2] == shape.channels)) &&
                      view.shape[0] == shape.height && view.shape[1] == shape.width;
    const bool unsigned_type = std::strcmp(view.format, shape.bits == 16 ? "H" : "B") == 0;
    if (!fits || !unsigned_type || view.itemsize != sample) {
      return Error(Code::invalid_argument,
                   "out must be a uint" + std::to_string(shape.bits) + " array of shape (" +
                       std::to_string(shape.height) + ", " + std::to_string(shape.width) +
                       (shape.channels == 1 ? "" : ", " + std::to_string(shape.channels)) + ")");
    }
    if (view.strides[1] != shape.channels * sample || (!flat && view.strides[2] != sample)) {
      return Error(Code::invalid_argument, "the pixels of a row of out must lie side by side");
    }
    return PixelMemory{static_cast<std::uint8_t*>(view.buf), view.strides[0]};
  }

 private:
  BorrowedBytes memory_;
};

}  // namespace penstock::bindings
