#include "core/dlpack.h"

#include <cstddef>

namespace penstock::dlpack {
namespace {

DataType data_type_of(DType dtype) noexcept {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(dtype));
  switch (dtype) {
    case DType::boolean:
      return {kBool, bits, 1};
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::int64:
      return {kInt, bits, 1};
    case DType::uint8:
    case DType::uint16:
    case DType::uint32:
    case DType::uint64:
      return {kUInt, bits, 1};
    case DType::bfloat16:
      return {kBfloat, bits, 1};
    case DType::float16:
    case DType::float32:
    case DType::float64:
      return {kFloat, bits, 1};
  }
  return {};
}

// What a consumer gets: the tensor, which holds the memory and the numbers the array points to.
template <class Header>
struct Shared {
  Tensor tensor;
  Header header{};
};

template <class Header>
Header* share(const Tensor& tensor) {
  auto* shared = new Shared<Header>{tensor};
  Tensor& own = shared->tensor;
  shared->header.array = {.data = own.raw(),
                          .device = {kCPU, 0},
                          .ndim = static_cast<std::int32_t>(own.rank()),
                          .dtype = data_type_of(own.dtype()),
                          .shape = const_cast<std::int64_t*>(own.shape().data()),
                          .strides = const_cast<std::int64_t*>(own.strides().data()),
                          .byte_offset = 0};
  shared->header.context = shared;
  shared->header.deleter = [](Header* self) { delete static_cast<Shared<Header>*>(self->context); };
  return &shared->header;
}

static_assert(sizeof(Array) == 48 && sizeof(Managed) == 64 && sizeof(ManagedVersioned) == 80 &&
                  offsetof(ManagedVersioned, array) == 32,
              "the layout of the DLPack ABI on 64-bit machines");

}  // namespace

Managed* to_dlpack(const Tensor& tensor) {
  return share<Managed>(tensor);
}

ManagedVersioned* to_dlpack_versioned(const Tensor& tensor, bool is_copied) {
  ManagedVersioned* header = share<ManagedVersioned>(tensor);
  header->version = {1, 0};
  header->flags = (tensor.read_only() ? kReadOnly : 0) | (is_copied ? kIsCopied : 0);
  return header;
}

}  // namespace penstock::dlpack
