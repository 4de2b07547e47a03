// Views of tensors: rows, slices, other shapes; and the copy for when a view will not do.
#include <algorithm>
#include <cstring>

#include "penstock/tensor.h"

namespace penstock {
namespace {

Dims without_first(const Dims& dims) noexcept {
  return Dims(std::span(dims.begin() + 1, dims.end()));
}

// Strides that show the same elements in the same order under `shape`, if there are any. Runs of
// old dimensions that lie densely inside each other are matched with runs of new ones of the same
// number of elements. All extents are positive and both shapes have equally many elements.
std::optional<Dims> strides_for(const Dims& old_shape, const Dims& old_strides, const Dims& shape) {
  Dims strides = shape;
  Dims kept_shape, kept_strides;  // old dimensions of extent 1 say nothing
  {
    std::array<std::int64_t, Dims::max_rank> extents{}, steps{};
    std::size_t kept = 0;
    for (std::size_t d = 0; d < old_shape.rank(); ++d) {
      if (old_shape[d] == 1) continue;
      extents[kept] = old_shape[d];
      steps[kept++] = old_strides[d];
    }
    kept_shape = Dims(std::span<const std::int64_t>(extents.data(), kept));
    kept_strides = Dims(std::span<const std::int64_t>(steps.data(), kept));
  }
  std::size_t old_begin = 0, begin = 0;
  while (old_begin < kept_shape.rank()) {
    std::size_t old_end = old_begin + 1, end = begin + 1;
    std::int64_t old_count = kept_shape[old_begin], count = shape[begin];
    while (old_count != count) {
      if (count < old_count) {
        count *= shape[end++];
      } else {
        old_count *= kept_shape[old_end++];
      }
    }
    for (std::size_t d = old_begin; d + 1 < old_end; ++d) {
      if (kept_strides[d] != kept_shape[d + 1] * kept_strides[d + 1]) return std::nullopt;
    }
    std::int64_t step = kept_strides[old_end - 1];
    for (std::size_t d = end; d-- > begin;) {
      strides[d] = step;
      step *= shape[d];
    }
    old_begin = old_end;
    begin = end;
  }
  for (; begin < shape.rank(); ++begin) strides[begin] = 1;  // extents of 1 at the end
  return strides;
}

void copy_elements(std::byte*& to, const std::byte* from, const Dims& shape, const Dims& strides,
                   std::size_t dimension, std::size_t element) {
  if (dimension == shape.rank()) {
    std::memcpy(to, from, element);
    to += element;
    return;
  }
  const auto extent = static_cast<std::size_t>(shape[dimension]);
  if (dimension + 1 == shape.rank() && strides[dimension] == 1) {
    std::memcpy(to, from, extent * element);
    to += extent * element;
    return;
  }
  const std::int64_t step = strides[dimension] * static_cast<std::int64_t>(element);
  for (std::size_t i = 0; i < extent; ++i) {
    copy_elements(to, from + static_cast<std::int64_t>(i) * step, shape, strides, dimension + 1,
                  element);
  }
}

}  // namespace

Result<Tensor> Tensor::row(std::int64_t i) const {
  if (rank() == 0) return Error(Code::invalid_argument, "a tensor of rank 0 has no rows");
  if (i < 0 || i >= shape_[0]) {
    return Error(Code::out_of_range, "row " + std::to_string(i) + " of a tensor with " +
                                         std::to_string(shape_[0]) + " rows");
  }
  Tensor view(buffer_, dtype_, without_first(shape_), without_first(strides_), offset_);
  view.offset_ += static_cast<std::size_t>(i * strides_[0]) * size_of(dtype_);
  return view;
}

Result<Tensor> Tensor::slice(std::size_t dimension, std::int64_t start, std::int64_t stop,
                             std::int64_t step) const {
  if (dimension >= rank()) {
    return Error(Code::out_of_range, "dimension " + std::to_string(dimension) +
                                         " of a tensor of rank " + std::to_string(rank()));
  }
  if (step < 1) {
    return Error(Code::invalid_argument, "step must be 1 or more, not " + std::to_string(step));
  }
  if (start < 0 || start > stop || stop > shape_[dimension]) {
    return Error(Code::out_of_range,
                 "start " + std::to_string(start) + " and stop " + std::to_string(stop) +
                     " do not lie in order within 0 and " + std::to_string(shape_[dimension]) +
                     ", the extent of dimension " + std::to_string(dimension));
  }
  Tensor view = *this;
  view.shape_[dimension] = start == stop ? 0 : (stop - start - 1) / step + 1;
  if (view.shape_[dimension] == 0) return view;  // no element: nothing to move to or to step over
  view.offset_ += static_cast<std::size_t>(start * strides_[dimension]) * size_of(dtype_);
  if (view.shape_[dimension] > 1) view.strides_[dimension] = strides_[dimension] * step;
  return view;
}

Result<Tensor> Tensor::reshape(const Dims& wanted) const {
  if (!wanted.valid()) {
    return Error(Code::invalid_argument, "shape has " + std::to_string(wanted.rank()) +
                                             " dimensions; a tensor has at most 8");
  }
  Dims shape = wanted;
  std::size_t open = max_rank;
  std::int64_t known = 1;
  bool fits = true;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (shape[d] == -1 && open == max_rank) {
      open = d;
    } else {
      fits = fits && shape[d] >= 0 && !__builtin_mul_overflow(known, shape[d], &known);
    }
  }
  if (open != max_rank && fits) {
    fits = known > 0 && size() % known == 0;
    if (fits) shape[open] = size() / known;
  } else {
    fits = fits && known == size();
  }
  if (!fits) {
    return Error(Code::invalid_argument, "shape " + wanted.to_string() + " does not have the " +
                                             std::to_string(size()) + " elements of shape " +
                                             shape_.to_string());
  }
  if (size() == 0) return over(buffer_, dtype_, shape, offset_);
  const std::optional<Dims> strides = strides_for(shape_, strides_, shape);
  if (!strides) {
    return Error(Code::unsupported, "shape " + shape_.to_string() + " with strides " +
                                        strides_.to_string() + " becomes " + shape.to_string() +
                                        " only by a copy: clone() the tensor first");
  }
  return Tensor(buffer_, dtype_, shape, *strides, offset_);
}

Result<Tensor> Tensor::clone() const {
  auto copy = empty(dtype_, shape_);
  if (!copy.ok() || size() == 0) return copy;
  std::byte* to = copy->raw();
  if (is_contiguous()) {
    std::memcpy(to, raw(), nbytes());
  } else {
    copy_elements(to, raw(), shape_, strides_, 0, size_of(dtype_));
  }
  return copy;
}

}  // namespace penstock
