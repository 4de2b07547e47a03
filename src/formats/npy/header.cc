#include "formats/npy/header.h"

#include <charconv>
#include <optional>
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

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

void skip_blanks(std::string_view& rest) {
  while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
}

bool take(std::string_view& rest, std::string_view word) {
  if (!rest.starts_with(word)) return false;
  rest.remove_prefix(word.size());
  return true;
}

// A quoted text without escapes, which is how NumPy writes keys and simple types.
std::optional<std::string_view> take_text(std::string_view& rest) {
  if (rest.empty() || (rest.front() != '\'' && rest.front() != '"')) return std::nullopt;
  const std::size_t end = rest.find(rest.front(), 1);
  if (end == rest.npos) return std::nullopt;
  const std::string_view text = rest.substr(1, end - 1);
  rest.remove_prefix(end + 1);
  return text;
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

// NumPy writes '<f8'. Others leave the byte order out, or write 'float64', and it reads these, too.
std::string with_order(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"bool", "|b1"},      {"int8", "|i1"},       {"int16", "<i2"},   {"int32", "<i4"},
      {"int64", "<i8"},     {"uint8", "|u1"},      {"uint16", "<u2"},  {"uint32", "<u4"},
      {"uint64", "<u8"},    {"float16", "<f2"},    {"float32", "<f4"}, {"float64", "<f8"},
      {"complex64", "<c8"}, {"complex128", "<c16"}};
  for (const auto& [name, descr] : kNames) {
    if (name == text) return std::string(descr);
  }
  std::string descr;
  if (text.size() > 1 && text[1] >= '0' && text[1] <= '9') descr.push_back('<');
  return descr.append(text);
}

Status read_descr(std::string_view& rest, Header& into) {
  if (rest.starts_with('[')) {
    const Result<std::string_view> list = list_in(rest);
    if (!list) return list.error();
    into.descr = *list;
    rest.remove_prefix(list->size());
    return {};
  }
  const std::optional<std::string_view> text = take_text(rest);
  if (!text || text->size() < 2) return bad("its dtype cannot be read");
  into.descr = with_order(*text);
  if (into.descr[1] == 'a') into.descr[1] = 'S';  // an old name, of which NumPy warns
  const char order = into.descr[0], kind = into.descr[1];
  if (kind == 'O' || order == 'O') return has_objects();
  if (std::string_view("<>|=").find(order) == std::string_view::npos) {
    return bad("its dtype cannot be read");
  }
  std::size_t size = 0;
  const char* first = into.descr.data() + 2;
  const char* last = into.descr.data() + into.descr.size();
  const auto [after, code] = std::from_chars(first, last, size);
  const bool dated = (kind == 'M' || kind == 'm') && after != last && *after == '[';
  if (code != std::errc() || (after != last && !dated) || size > (std::size_t(1) << 40)) {
    return bad("its dtype cannot be read");
  }
  if (std::string_view("biufcSUVMm").find(kind) == std::string_view::npos) {
    return Error(Code::unsupported, "a .npy array of dtype '" + into.descr + "' is not read");
  }
  into.item_bytes = kind == 'U' ? 4 * size : size;
  if (order == '<' || order == '|') {
    into.dtype = number_type(std::string_view(into.descr).substr(1));
  }
  return {};
}

Status read_shape(std::string_view& rest, Header& into) {
  if (!take(rest, "(")) return bad("its shape is not a tuple");
  skip_blanks(rest);
  while (!take(rest, ")")) {
    std::int64_t extent = 0;
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), extent);
    if (code == std::errc::result_out_of_range) return bad("its shape is too large");
    if (code != std::errc() || extent < 0) return bad("its shape is not a tuple of numbers");
    into.shape.push_back(extent);
    rest.remove_prefix(std::size_t(end - rest.data()));
    take(rest, "L");  // as Python 2 wrote it
    skip_blanks(rest);
    const bool more = take(rest, ",");
    skip_blanks(rest);
    // NumPy reads (3) as a number, which is no shape.
    if (!more && (!rest.starts_with(')') || into.shape.size() == 1)) {
      return bad("its shape is not a tuple of numbers");
    }
  }
  if (into.shape.size() > 64) return bad("its shape cannot be read");
  return {};
}

// The header's text: a Python dictionary of these three keys, and nothing after it.
Status read_dictionary(std::string_view rest, Header& into) {
  bool descr = false, order = false, shape = false;
  skip_blanks(rest);
  if (!take(rest, "{")) return bad("its header is no dictionary");
  skip_blanks(rest);
  while (!take(rest, "}")) {
    const std::optional<std::string_view> key = take_text(rest);
    skip_blanks(rest);
    if (!key || !take(rest, ":")) return bad("its header cannot be read");
    skip_blanks(rest);
    Status status;
    if (*key == "descr" && !std::exchange(descr, true)) {
      status = read_descr(rest, into);
    } else if (*key == "shape" && !std::exchange(shape, true)) {
      status = read_shape(rest, into);
    } else if (*key == "fortran_order" && !std::exchange(order, true)) {
      into.fortran = take(rest, "True");
      if (!into.fortran && !take(rest, "False")) {
        status = bad("its fortran_order is neither True nor False");
      }
    } else {
      status = bad("its header has an unknown or a second " + std::string(*key));
    }
    if (!status) return status;
    skip_blanks(rest);
    const bool more = take(rest, ",");
    skip_blanks(rest);
    if (!more && !rest.starts_with('}')) return bad("its header cannot be read");
  }
  skip_blanks(rest);
  if (!rest.empty()) return bad("its header does not end where it should");
  if (!descr || !order || !shape) {
    return bad(std::string("its header has no ") + (!descr   ? "descr"
                                                    : !order ? "fortran_order"
                                                             : "shape"));
  }
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
  if (Status status = read_dictionary(text, header); !status) return std::move(status).error();
  header.fortran = header.fortran && header.shape.size() > 1;
  if (header.shape.size() > Dims::max_rank) header.dtype.reset();
  if (header.item_bytes > 0) {
    if (const Result<std::uint64_t> size = header.data_bytes(); !size) return size.error();
  }
  return header;
}

// Extents of zero do not hide others that are too large: strides are made of those. Neither does
// NumPy make such an array.
Result<std::uint64_t> Header::data_bytes() const {
  std::uint64_t bytes = item_bytes;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    empty = empty || extent == 0;
    if (extent == 0) continue;
    if (__builtin_mul_overflow(bytes, std::uint64_t(extent), &bytes) || bytes >> 62 != 0) {
      return bad("its shape is too large");
    }
  }
  return empty ? 0 : bytes;
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
