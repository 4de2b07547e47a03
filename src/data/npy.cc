// The .npy format: magic, version, the length of a header, the header (a Python literal of three
// keys), the elements. https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include <cctype>
#include <cstring>
#include <map>

#include "data/steps.h"

namespace penstock::data {
namespace {

Error bad(const std::string& message) {
  return Error(Code::corrupt, "not a .npy array: " + message);
}

// What follows 'key': in the header, up to what ends it.
Result<std::string_view> value_of(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(std::string(1, '\'').append(key).append(1, '\''));
  if (at == header.npos) return bad("its header has no " + std::string(key));
  const std::size_t colon = header.find(':', at);
  if (colon == header.npos) return bad("its header ends early");
  std::string_view rest = header.substr(colon + 1);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return rest;
}

Result<DType> type_of(std::string_view rest) {
  if (rest.size() < 3 || rest.front() != '\'') {
    return Error(Code::unsupported, "a .npy file of records (a structured dtype) is not read");
  }
  const std::string descr(rest.substr(1, rest.find('\'', 1) - 1));
  static const std::map<std::string, DType> types = {
      {"b1", DType::boolean}, {"i1", DType::int8},    {"i2", DType::int16},
      {"i4", DType::int32},   {"i8", DType::int64},   {"u1", DType::uint8},
      {"u2", DType::uint16},  {"u4", DType::uint32},  {"u8", DType::uint64},
      {"f2", DType::float16}, {"f4", DType::float32}, {"f8", DType::float64}};
  const bool native = !descr.empty() && (descr[0] == '<' || descr[0] == '|');
  const auto found = native ? types.find(descr.substr(1)) : types.end();
  if (found == types.end()) {
    return Error(Code::unsupported, "a .npy file of dtype '" + descr +
                                        "' is not read; numbers of this machine's byte order are");
  }
  return found->second;
}

Result<Dims> shape_of(std::string_view rest) {
  if (rest.empty() || rest.front() != '(') return bad("its shape is not a tuple");
  std::vector<std::int64_t> extents;
  rest.remove_prefix(1);
  while (!rest.empty() && rest.front() != ')') {
    if (std::isdigit(static_cast<unsigned char>(rest.front())) != 0) {
      std::int64_t extent = 0;
      while (!rest.empty() && std::isdigit(static_cast<unsigned char>(rest.front())) != 0) {
        if (extent > (std::int64_t{1} << 50)) return bad("its shape is too large");
        extent = extent * 10 + (rest.front() - '0');
        rest.remove_prefix(1);
      }
      extents.push_back(extent);
    } else if (rest.front() == ' ' || rest.front() == ',') {
      rest.remove_prefix(1);
    } else {
      return bad("its shape is not a tuple of numbers");
    }
  }
  const Dims shape{std::span<const std::int64_t>(extents)};
  if (rest.empty() || !shape.valid()) return bad("its shape cannot be read");
  return shape;
}

}  // namespace

Result<Tensor> parse_npy(const Bytes& file) {
  const std::string_view text = file.text();
  if (text.size() < 12 || text.substr(0, 6) != "\x93NUMPY")
    return bad("it does not begin like one");
  const auto byte = [&](std::size_t i) { return std::size_t{static_cast<unsigned char>(text[i])}; };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3) return bad("its version is unknown");
  const std::size_t start = version == 1 ? 10 : 12;
  const std::size_t length = version == 1
                                 ? byte(8) | byte(9) << 8
                                 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > text.size() - start) return bad("it ends inside its header");
  const std::string_view header = text.substr(start, length);

  const auto descr = value_of(header, "descr"), order = value_of(header, "fortran_order"),
             extents = value_of(header, "shape");
  if (!descr) return descr.error();
  if (!order) return order.error();
  if (!extents) return extents.error();
  const Result<DType> type = type_of(*descr);
  if (!type) return type.error();
  const Result<Dims> shape = shape_of(*extents);
  if (!shape) return shape.error();
  const Result<std::size_t> bytes = Tensor::bytes_for(*type, *shape);
  const std::size_t offset = start + length;
  if (!bytes || *bytes > text.size() - offset) return bad("it has fewer elements than its shape");

  // Elements may lie off their alignment inside a record: then they are copied.
  const std::byte* elements = file.bytes.data() + offset;
  const bool fortran = order->substr(0, 4) == "True" && shape->rank() > 1;
  Dims strides = *shape;
  if (fortran) {
    std::int64_t step = 1;
    for (std::size_t d = 0; d < shape->rank(); ++d) {
      strides[d] = step;
      step *= (*shape)[d];
    }
  }
  Buffer memory;
  if (reinterpret_cast<std::uintptr_t>(elements) % size_of(*type) == 0) {
    const auto keep = std::make_shared<Bytes>(file);
    memory = Buffer::wrap_read_only(elements, *bytes, [keep] {});
  } else {
    Result<Buffer> copy = Buffer::allocate(*bytes);
    if (!copy) return std::move(copy).error();
    std::memcpy(copy->data(), elements, *bytes);
    memory = *std::move(copy);
  }
  return fortran ? Tensor::over(memory, *type, *shape, strides, 0)
                 : Tensor::over(memory, *type, *shape);
}

}  // namespace penstock::data
