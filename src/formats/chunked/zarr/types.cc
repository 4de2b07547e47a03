#include "formats/chunked/zarr/types.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

namespace penstock::formats::zarr {
namespace {

using chunked::Element;
using chunked::element_of;

// In single quotes, as Python reads it.
std::string in_quotes(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string all(1, '\'');
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\') {
      all += '\\';
      all += c;
    } else if (code < 32) {
      all += "\\x";
      all += kDigits[code >> 4];
      all += kDigits[code & 15];
    } else {
      all += c;
    }
  }
  return all += '\'';
}

Error unknown(const Json& type) {
  return Error(Code::unsupported,
               "elements of type " + type.dump(-1, ' ', false, Json::error_handler_t::replace) +
                   " cannot be read; fixed-size numbers, strings and records can");
}

// ["a", "<f4"], ["a", "<f4", [2, 3]], or {"name": "a", "data_type": "float32"}.
struct Field {
  const Json* name = nullptr;
  const Json* type = nullptr;
  const Json* shape = nullptr;

  explicit Field(const Json& json) {
    if (json.is_object()) {
      name = member(json, "name"), type = member(json, "data_type");
    } else if (json.is_array() && (json.size() == 2 || json.size() == 3)) {
      name = &json[0], type = &json[1], shape = json.size() == 3 ? &json[2] : nullptr;
    }
  }
  bool valid() const { return name != nullptr && name->is_string() && type != nullptr; }
};

// NumPy's word for an element: numbers of version 3 in big-endian order have only their type's
// name.
std::string word_of(const Element& element) {
  const std::string& descr = element.descr;
  if (!element.swap || descr.starts_with('>')) return descr;
  return '>' + std::string(1, descr[0]) + std::to_string(element.bytes);
}

// Fields of a record, each read by `read`.
template <class Read>
Result<Element> record_of(const Json& fields, const Read& read) {
  Element record;
  record.descr.assign(1, '[');
  for (const Json& json : fields) {
    const Field field(json);
    if (!field.valid()) return bad_metadata("a field of its dtype is wrong");
    Result<Element> part = read(*field.type);
    if (!part) return part;
    if (part->swap && part->dtype == DType::bfloat16) return unknown(json);
    const std::string descr = word_of(*part);
    record.descr += '(';
    record.descr += in_quotes(field.name->get<std::string>());
    record.descr += ", ";
    record.descr += descr.starts_with('[') ? descr : in_quotes(descr);
    std::uint64_t count = 1;
    if (field.shape != nullptr) {
      const auto shape = numbers(field.shape);
      if (!shape) return bad_metadata("the shape of a field of its dtype is wrong");
      record.descr += ", (";
      for (const std::uint64_t extent : *shape) {
        record.descr += std::to_string(extent) + ",";
        if (extent > chunked::kMostElementBytes) return unknown(json);
        count *= extent;
        if (count > chunked::kMostElementBytes) return unknown(json);
      }
      record.descr += ")";
    }
    record.descr += "), ";
    record.bytes += part->bytes * std::size_t(count);
    if (record.bytes > chunked::kMostElementBytes) return unknown(fields);
  }
  record.descr += "]";
  if (record.bytes == 0) return unknown(fields);
  return record;
}

// "AAAA" -> three bytes of 0.
std::optional<std::vector<std::byte>> from_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::byte> bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::size_t digit = kDigits.find(c);
    if (digit == kDigits.npos) return std::nullopt;
    bits = bits << 6 | std::uint32_t(digit);
    if ((count += 6) >= 8) bytes.push_back(std::byte(bits >> (count -= 8) & 0xff));
  }
  return bytes;
}

// A number for an integer or boolean type, as NumPy takes it: fractions are cut off, and none if it
// does not fit.
std::optional<std::vector<std::byte>> integer_from(const Json& value, DType dtype) {
  if (dtype == DType::boolean) {
    return chunked::integer_bytes(dtype, value.get<double>() != 0 ? 1 : 0);
  }
  const bool with_sign = dtype == DType::int8 || dtype == DType::int16 || dtype == DType::int32 ||
                         dtype == DType::int64;
  const auto bits = int(size_of(dtype) * 8) - (with_sign ? 1 : 0);
  const std::uint64_t most = ~std::uint64_t(0) >> (64 - bits);
  std::uint64_t size = 0;  // what is left without the sign
  bool negative = false;
  if (value.is_number_unsigned()) {
    size = value.get<std::uint64_t>();
  } else if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    negative = number < 0;
    size = negative ? -std::uint64_t(number) : std::uint64_t(number);
  } else {
    const double number = value.get<double>();
    if (!(std::abs(number) < 0x1p64)) return std::nullopt;
    size = std::uint64_t(std::abs(number));
    negative = number < 0 && size > 0;
  }
  if (negative ? !with_sign || size > most + 1 : size > most) return std::nullopt;
  return chunked::integer_bytes(dtype, negative ? -size : size);
}

// A number, "NaN", "-Infinity", or its bits as "0x7fc00000".
std::optional<std::vector<std::byte>> number_from(const Json& value, DType dtype) {
  const bool real = dtype == DType::float16 || dtype == DType::bfloat16 ||
                    dtype == DType::float32 || dtype == DType::float64;
  if (value.is_boolean()) {
    const int one = value.get<bool>() ? 1 : 0;
    return real ? chunked::number_bytes(dtype, one) : chunked::integer_bytes(dtype, one);
  }
  if (value.is_number()) {
    return real ? chunked::number_bytes(dtype, value.get<double>()) : integer_from(value, dtype);
  }
  if (!value.is_string() || !real) return std::nullopt;
  const auto text = value.get<std::string>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "NaN") return chunked::number_bytes(dtype, std::numeric_limits<double>::quiet_NaN());
  if (text == "Infinity") return chunked::number_bytes(dtype, kInfinity);
  if (text == "-Infinity") return chunked::number_bytes(dtype, -kInfinity);
  std::uint64_t bits = 0;
  const char* end = text.data() + text.size();
  if (!text.starts_with("0x")) return std::nullopt;
  const auto [rest, failure] = std::from_chars(text.data() + 2, end, bits, 16);
  if (failure != std::errc() || rest != end) return std::nullopt;
  return chunked::integer_bytes(dtype, bits);
}

std::vector<std::byte> joined(std::vector<std::byte> a, const std::vector<std::byte>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// UTF-8 as four bytes for each letter.
std::vector<std::byte> utf32(std::string_view text, bool big_endian) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    std::uint32_t code = lead < 0x80   ? lead
                         : lead < 0xe0 ? lead & 31
                         : lead < 0xf0 ? lead & 15
                                       : lead & 7;
    while (i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) {
      code = code << 6 | (static_cast<unsigned char>(text[i++]) & 63);
    }
    for (unsigned k = 0; k < 4; ++k) {
      bytes.push_back(std::byte(code >> 8 * (big_endian ? 3 - k : k) & 0xff));
    }
  }
  return bytes;
}

}  // namespace

Result<Element> element_v2(const Json& dtype) {
  if (dtype.is_array()) return record_of(dtype, &element_v2);
  if (!dtype.is_string()) return bad_metadata("its dtype is missing");
  Result<Element> element = element_of(dtype.get<std::string>());
  return element ? std::move(element) : unknown(dtype);
}

Result<Element> element_v3(const Json& type, bool big_endian) {
  const std::string name = name_in(type), order(1, big_endian ? '>' : '<');
  const Json& options = configuration(type);
  const auto length = [&](const char* option, std::uint64_t unit) -> std::optional<std::string> {
    const Json* value = member(options, option);
    if (value == nullptr || !value->is_number_unsigned()) return std::nullopt;
    return std::to_string(value->get<std::uint64_t>() / unit);
  };
  const auto made = [&](const std::string& descr) -> Result<Element> {
    Result<Element> element = element_of(descr);
    return element ? std::move(element) : unknown(type);
  };
  if (name == "complex64") return made(order + "c8");
  if (name == "complex128") return made(order + "c16");
  if (name == "null_terminated_bytes") {
    if (const auto n = length("length_bytes", 1)) return made("|S" + *n);
  } else if (name == "fixed_length_utf32") {
    if (const auto n = length("length_bytes", 4)) return made(order + "U" + *n);
  } else if (name == "raw_bytes") {
    if (const auto n = length("length_bytes", 1)) return made("|V" + *n);
  } else if (name == "numpy.datetime64" || name == "numpy.timedelta64") {
    const auto scale = length("scale_factor", 1);
    return made(order + (name == "numpy.datetime64" ? "M8[" : "m8[") +
                (scale && *scale != "1" ? *scale : "") + text_member(options, "unit") + "]");
  } else if (name == "structured" || name == "struct") {
    const Json* fields = member(options, "fields");
    if (fields == nullptr || !fields->is_array()) return unknown(type);
    // "structured" records are bytes to the codec: their numbers are little-endian. In a "struct"
    // the codec's order is that of its numbers; writers do not agree on those of a struct inside
    // it.
    const bool swapped = big_endian && name == "struct";
    return record_of(*fields, [&](const Json& field) -> Result<Element> {
      if (swapped && name_in(field) == "struct") return unknown(type);
      return element_v3(field, swapped);
    });
  } else if (name.size() > 1 && name[0] == 'r' &&
             name.find_first_not_of("0123456789", 1) == std::string::npos) {
    unsigned bits = 0;
    std::from_chars(name.data() + 1, name.data() + name.size(), bits);
    if (bits % 8 == 0) return made("|V" + std::to_string(bits / 8));
  } else if (const Result<DType> dtype = dtype_named(name)) {
    Element element;
    element.dtype = *dtype;
    element.bytes = size_of(*dtype);
    element.swap = big_endian && element.bytes > 1;
    element.descr = std::string(name_of(*dtype));
    return element;
  }
  return unknown(type);
}

Result<std::vector<std::byte>> struct_fill_value(const Json& value, const Json& type,
                                                 bool big_endian) {
  std::vector<std::byte> all;
  const Json* fields = member(configuration(type), "fields");
  if (fields == nullptr || !fields->is_array()) return unknown(type);
  for (const Json& json : *fields) {
    const Field field(json);
    if (!field.valid()) return bad_metadata("a field of its dtype is wrong");
    const Result<Element> element = element_v3(*field.type, big_endian);
    if (!element) return element.error();
    const Json* part = member(value, field.name->get_ref<const std::string&>().c_str());
    const bool nested = part != nullptr && part->is_object();
    Result<std::vector<std::byte>> bytes =
        nested ? struct_fill_value(*part, *field.type, big_endian) : fill_value(part, *element, 3);
    if (!bytes) return bytes;
    if (element->swap) chunked::swap_bytes(*bytes, element->bytes);
    all = joined(std::move(all), *bytes);
  }
  return all;
}

Result<std::vector<std::byte>> fill_value(const Json* value, const Element& element, int version) {
  std::vector<std::byte> zero(element.bytes);
  std::optional<std::vector<std::byte>> bytes;
  const char letter = element.descr.size() > 1 ? element.descr[1] : 'V';
  const bool big_endian = element.descr[0] == '>';
  const bool time = letter == 'M' || letter == 'm';
  const auto put_in_order = [&](std::optional<std::vector<std::byte>> made, std::size_t unit) {
    if (made && big_endian) chunked::swap_bytes(*made, unit);
    return made;
  };
  const auto no_time = [&] {
    return put_in_order(chunked::integer_bytes(DType::int64, std::uint64_t(1) << 63), 8);
  };
  if (value == nullptr || value->is_null()) {
    // What zarr-python makes of no value at all: NumPy's own 0, but for times.
    return !element.dtype && time && version == 2 ? *no_time() : zero;
  }
  if (element.dtype) {
    bytes = number_from(*value, *element.dtype);
  } else if (letter == 'c' && (element.bytes == 8 || element.bytes == 16)) {
    const DType half = element.bytes == 8 ? DType::float32 : DType::float64;
    if (value->is_array() && value->size() == 2) {
      const auto re = number_from((*value)[0], half), im = number_from((*value)[1], half);
      if (re && im) bytes = put_in_order(joined(*re, *im), element.bytes / 2);
    } else if (const auto re = number_from(*value, half)) {
      bytes = put_in_order(joined(*re, std::vector<std::byte>(re->size())), element.bytes / 2);
    }
  } else if (time) {
    if (value->is_number_integer()) {
      bytes = put_in_order(number_from(*value, DType::int64), 8);
    } else if (value->is_string() && value->get<std::string>() == "NaT") {
      bytes = no_time();
    }
  } else if (letter == 'U' && value->is_string()) {
    bytes = utf32(value->get<std::string>(), big_endian);
  } else if (value->is_string()) {
    bytes = from_base64(value->get<std::string>());
  } else if (version == 2 && value->is_number_integer() && value->get<std::int64_t>() == 0) {
    bytes = zero;
  }
  if (!bytes || bytes->size() > element.bytes) return bad_metadata("its fill value is wrong");
  bytes->resize(element.bytes);
  return *std::move(bytes);
}

}  // namespace penstock::formats::zarr
