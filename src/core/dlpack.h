// DLPack: the public ABI through which array libraries share memory without a copy, and how a
// Tensor is handed out through it. Struct layouts are those of dlpack.h 1.0; ours live in a
// namespace so that a program may include both.
#pragma once

#include <cstdint>

#include "penstock/tensor.h"

namespace penstock::dlpack {

inline constexpr std::int32_t kCPU = 1;
enum TypeCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6 };
inline constexpr std::uint64_t kReadOnly = 1;
inline constexpr std::uint64_t kIsCopied = 2;

struct Device {
  std::int32_t type;
  std::int32_t id;
};

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Array {  // DLTensor
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

struct Managed {  // DLManagedTensor, in a capsule named "dltensor"
  Array array;
  void* context;
  void (*deleter)(Managed* self);
};

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

struct ManagedVersioned {  // DLManagedTensorVersioned, in a capsule named "dltensor_versioned"
  Version version;
  void* context;
  void (*deleter)(ManagedVersioned* self);
  std::uint64_t flags;
  Array array;
};

// Each hands out a share of the tensor's memory, which lives until `deleter` is called, from
// whichever thread. The old form cannot say read-only: do not hand out such tensors by it.
Managed* to_dlpack(const Tensor& tensor);
ManagedVersioned* to_dlpack_versioned(const Tensor& tensor, bool is_copied);

}  // namespace penstock::dlpack
