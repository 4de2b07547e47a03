// The header of a .npy file: magic, version, the length of what follows, and a Python literal of
// three keys. https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
// Nothing of it is executed: arrays of Python objects are refused. (What a list of fields says is
// for NumPy to read; who hands that on looks for objects in it.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "penstock/dtype.h"
#include "penstock/error.h"
#include "penstock/tensor.h"

namespace penstock::formats::npy {

struct Header {
  int version = 1;             // from 3 on text in it is UTF-8, before that Latin-1
  std::string descr;           // as it stands there: <f4, or [('x', '<f4'), ...] for records
  std::optional<DType> dtype;  // where a Tensor can hold the elements as they are
  std::size_t item_bytes = 0;  // of an element; 0 for records, whose size NumPy knows
  bool fortran = false;        // the first dimension runs fastest
  std::vector<std::int64_t> shape;
  std::size_t data_offset = 0;  // where the elements begin

  // Bytes of all elements; corrupt if no file can hold so many. Not for records.
  Result<std::uint64_t> data_bytes() const;
  // Strides of a Tensor over the elements.
  Dims strides() const;
};

// A .npy file's first bytes tell how long its header is.
inline constexpr std::size_t kStartBytes = 12;
inline constexpr std::size_t kMostHeaderBytes = std::size_t(1) << 20;

// Of the whole header, magic included. Fails with corrupt if this is no .npy file.
Result<std::size_t> header_bytes(std::span<const std::byte> start);

// `bytes` hold at least the header.
Result<Header> parse_header(std::span<const std::byte> bytes);

}  // namespace penstock::formats::npy
