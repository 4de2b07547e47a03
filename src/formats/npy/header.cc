#include "formats/npy/header.h"

#include <cctype>
#include <charconv>
#include <string_view>
#include <utility>

namespace penstock::formats::npy {
namespace {

Error bad(const std::string& message) {
  return Error(Code::corrupt, "not a .npy array: " + message);
}

Error has_objects() {
  return Error(Code::unsupported,
               "this .npy array holds Python objects, which only pickle can read, and pickle runs "
               "code: save numbers or fixed-length text instead");
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What follows 'key': in the header.
Result<std::string_view> value_of(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(std::string(1, '\'').append(key).append(1, '\''));
  if (at == header.npos) return bad("its header has no " + std::string(key));
  const std::size_t colon = header.find(':', at);
  if (colon == header.npos) return bad("its header ends early");
  std::string_view rest = header.substr(colon + 1);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return rest;
}

// A list, up to the bracket that closes it. Names in it are quoted as Python quotes them.
Result<std::string_view> list_in(std::string_view rest) {
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '\'' || c == '"') quote = c;
    depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
    if (depth == 0) return rest.substr(0, i + 1);
  }
  return bad("its dtype cannot be read");
}

std::optional<DType> number_type(std::string_view code) {
  static constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"b1", DType::boolean}, {"i1", DType::int8},    {"i2", DType::int16},
      {"i4", DType::int32},   {"i8", DType::int64},   {"u1", DType::uint8},
      {"u2", DType::uint16},  {"u4", DType::uint32},  {"u8", DType::uint64},
      {"f2", DType::float16}, {"f4", DType::float32}, {"f8", DType::float64}};
  for (const auto& [name, type] : kTypes) {
    if (name == code) return type;
  }
  return std::nullopt;
}

Status read_descr(std::string_view rest, Header& into) {
  if (rest.starts_with('[')) {
    const Result<std::string_view> list = list_in(rest);
    if (!list) return list.error();
    into.descr = *list;
    return {};
  }
  const std::size_t end = rest.find('\'', 1);
  if (!rest.starts_with('\'') || end == rest.npos || end < 3)
    return bad("its dtype cannot be read");
  into.descr = rest.substr(1, end - 1);
  const char order = into.descr[0], kind = into.descr[1];
  if (kind == 'O' || order == 'O') return has_objects();
  std::size_t size = 0;
  const char* first = into.descr.data() + 2;
  const char* last = into.descr.data() + into.descr.size();
  const auto [after, code] = std::from_chars(first, last, size);
  const bool dated = (kind == 'M' || kind == 'm') && after != last && *after == '[';
  if (code != std::errc() || (after != last && !dated) || size > (std::size_t(1) << 40)) {
    return bad("its dtype cannot be read");
  }
  if (std::string_view("biufcSaUVMm").find(kind) == std::string_view::npos) {
    return Error(Code::unsupported, "a .npy array of dtype '" + into.descr + "' is not read");
  }
  into.item_bytes = kind == 'U' ? 4 * size : size;
  if (order == '<' || order == '|') {
    into.dtype = number_type(std::string_view(into.descr).substr(1));
  }
  return {};
}

Status read_shape(std::string_view rest, Header& into) {
  if (!rest.starts_with('(')) return bad("its shape is not a tuple");
  rest.remove_prefix(1);
  while (!rest.empty() && rest.front() != ')') {
    if (std::isdigit(static_cast<unsigned char>(rest.front())) != 0) {
      std::int64_t extent = 0;
      const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), extent);
      if (code != std::errc()) return bad("its shape is too large");
      into.shape.push_back(extent);
      rest.remove_prefix(std::size_t(end - rest.data()));
      if (rest.starts_with('L')) rest.remove_prefix(1);  // as Python 2 wrote it
    } else if (rest.front() == ' ' || rest.front() == ',') {
      rest.remove_prefix(1);
    } else {
      return bad("its shape is not a tuple of numbers");
    }
  }
  if (rest.empty() || into.shape.size() > 64) return bad("its shape cannot be read");
  return {};
}

}  // namespace

Result<std::size_t> header_bytes(std::span<const std::byte> start) {
  if (start.size() < kStartBytes || text_of(start).substr(0, 6) != "\x93NUMPY") {
    return bad("it does not begin like one");
  }
  const auto byte = [&](std::size_t i) { return std::size_t(start[i]); };
  if (byte(6) < 1 || byte(6) > 3) return bad("its version is unknown");
  const std::size_t length = byte(6) == 1
                                 ? byte(8) | byte(9) << 8
                                 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  const std::size_t whole = (byte(6) == 1 ? 10 : 12) + length;
  if (whole > kMostHeaderBytes) return bad("its header is too long");
  return whole;
}

Result<Header> parse_header(std::span<const std::byte> bytes) {
  const Result<std::size_t> whole = header_bytes(bytes);
  if (!whole) return whole.error();
  if (*whole > bytes.size()) return bad("it ends inside its header");
  const std::size_t start = bytes[6] == std::byte{1} ? 10 : 12;
  const std::string_view text = text_of(bytes.subspan(start, *whole - start));
  Header header;
  header.version = int(bytes[6]);
  header.data_offset = *whole;
  const auto descr = value_of(text, "descr"), order = value_of(text, "fortran_order"),
             shape = value_of(text, "shape");
  if (!descr) return descr.error();
  if (!order) return order.error();
  if (!shape) return shape.error();
  if (Status status = read_descr(*descr, header); !status) return std::move(status).error();
  if (Status status = read_shape(*shape, header); !status) return std::move(status).error();
  if (!order->starts_with("True") && !order->starts_with("False")) {
    return bad("its fortran_order is neither True nor False");
  }
  header.fortran = order->starts_with("True") && header.shape.size() > 1;
  if (header.shape.size() > Dims::max_rank) header.dtype.reset();
  if (header.item_bytes > 0) {
    if (const Result<std::uint64_t> size = header.data_bytes(); !size) return size.error();
  }
  return header;
}

Result<std::uint64_t> Header::data_bytes() const {
  std::uint64_t bytes = item_bytes;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, std::uint64_t(extent), &bytes) || bytes >> 62 != 0) {
      return bad("its shape is too large");
    }
  }
  return bytes;
}

Dims Header::strides() const {
  Dims strides{std::span<const std::int64_t>(shape)};
  std::int64_t step = 1;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const std::size_t d = fortran ? k : shape.size() - 1 - k;
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

}  // namespace penstock::formats::npy
