#include "formats/chunked/hdf5/module/attributes.h"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "formats/chunked/hdf5/module/handle.h"
#include "formats/chunked/hdf5/module/types.h"

namespace penstock::formats::hdf5 {
namespace {

using Json = nlohmann::json;

constexpr hssize_t kMostElements = 1 << 20;
constexpr std::size_t kMostBytes = std::size_t(1) << 28;
// Names that no attribute and no part of a record can have.
const std::string kComplex("\0complex", 8), kLeftOut("\0left out", 9);

// A value, or in `why` the reason why there is none.
struct Told {
  Json value;
  std::string why;
};

Told not_told(std::string why) {
  return {Json(), std::move(why)};
}

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

double half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double size = std::ldexp(exponent == 0 ? mantissa : mantissa + 1024, std::max(exponent, 1) - 25);
  if (exponent == 31) size = mantissa == 0 ? HUGE_VAL : NAN;
  return (bits >> 15) != 0 ? -size : size;
}

Told real(std::size_t size, const std::byte* at) {
  switch (size) {
    case 2:
      return {half(load<std::uint16_t>(at)), {}};
    case 4:
      return {double(load<float>(at)), {}};
    case 8:
      return {load<double>(at), {}};
    case sizeof(long double):
      return {double(load<long double>(at)), {}};
    default:
      return not_told("floating point of " + std::to_string(8 * size) + " bits");
  }
}

Told integer(std::size_t size, bool has_sign, const std::byte* at) {
  switch (size) {
    case 1:
      return {has_sign ? Json(load<std::int8_t>(at)) : Json(load<std::uint8_t>(at)), {}};
    case 2:
      return {has_sign ? Json(load<std::int16_t>(at)) : Json(load<std::uint16_t>(at)), {}};
    case 4:
      return {has_sign ? Json(load<std::int32_t>(at)) : Json(load<std::uint32_t>(at)), {}};
    case 8:
      return {has_sign ? Json(load<std::int64_t>(at)) : Json(load<std::uint64_t>(at)), {}};
    default:
      return not_told("integers of " + std::to_string(8 * size) + " bits");
  }
}

Told told(hid_t type, const std::byte* at);

// Elements side by side as a list of lists, by shape.
Told shaped(hid_t type, std::span<const hsize_t> shape, const std::byte*& at) {
  if (shape.empty()) {
    const std::byte* const one = at;
    at += H5Tget_size(type);
    return told(type, one);
  }
  Told all{Json::array(), {}};
  for (hsize_t i = 0; i < shape[0]; ++i) {
    Told one = shaped(type, shape.subspan(1), at);
    if (!one.why.empty()) return one;
    all.value.push_back(std::move(one.value));
  }
  return all;
}

Told text_in(std::span<const std::byte> bytes) {
  const auto* words = reinterpret_cast<const char*>(bytes.data());
  return {std::string(words, ::strnlen(words, bytes.size())), {}};
}

Told record(hid_t type, const std::byte* at) {
  Told all{Json::object(), {}};
  Json parts = Json::array();
  for (int i = 0; i < H5Tget_nmembers(type); ++i) {
    const Handle member = type_handle(H5Tget_member_type(type, unsigned(i)));
    char* name = H5Tget_member_name(type, unsigned(i));
    const std::string key = name == nullptr ? "" : name;
    H5free_memory(name);
    Told one = told(member.get(), at + H5Tget_member_offset(type, unsigned(i)));
    if (!one.why.empty()) return one;
    parts.push_back(one.value);
    all.value[key] = std::move(one.value);
  }
  if (is_complex(type)) return {Json{{kComplex, std::move(parts)}}, {}};
  return all;
}

Told told(hid_t type, const std::byte* at) {
  const std::size_t size = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return integer(size, H5Tget_sign(type) != H5T_SGN_NONE, at);
    case H5T_BITFIELD:
      return integer(size, false, at);
    case H5T_FLOAT:
      return real(size, at);
    case H5T_ENUM: {
      if (is_boolean(type)) return {load<std::uint8_t>(at) != 0, {}};
      const Handle base = type_handle(H5Tget_super(type));
      return told(base.get(), at);
    }
    case H5T_STRING:
      return text_in({at, size});
    case H5T_COMPOUND:
      return record(type, at);
    case H5T_ARRAY: {
      const Handle base = type_handle(H5Tget_super(type));
      hsize_t extents[H5S_MAX_RANK];
      const int rank = H5Tget_array_dims2(type, extents);
      return shaped(base.get(), {extents, std::size_t(std::max(rank, 0))}, at);
    }
    case H5T_REFERENCE:
      return not_told("references");
    default:
      return not_told("elements of an opaque or unknown type");
  }
}

// A text or a list as it is stored.
Told varying(hid_t type, hid_t native, Stored::Bytes bytes) {
  if (H5Tget_class(type) == H5T_STRING) return text_in(bytes);
  const hsize_t count = bytes.size() / H5Tget_size(type);
  bytes.resize(std::max<std::size_t>(count * std::max(H5Tget_size(type), H5Tget_size(native)), 1));
  if (H5Tconvert(type, native, count, bytes.data(), nullptr, H5P_DEFAULT) < 0) {
    return not_told("libhdf5 cannot convert it: " + last_failure());
  }
  const std::byte* at = bytes.data();
  return shaped(native, {&count, 1}, at);
}

// libhdf5 does not see these: what is damaged there ends the process.
Told varying_value(const std::string& name, hid_t type, std::uint64_t count,
                   std::span<const hsize_t> shape, const StoredOf& from) {
  const bool is_text = H5Tget_class(type) == H5T_STRING;
  const Handle item = type_handle(is_text ? H5Tcopy(type) : H5Tget_super(type));
  if (!is_text && (H5Tget_class(type) != H5T_VLEN || varies(item.get()))) {
    return not_told("text or lists of variable length inside of records or lists");
  }
  const Handle native =
      type_handle(is_text ? H5Tcopy(type) : H5Tget_native_type(item.get(), H5T_DIR_ASCEND));
  if (!native) return not_told("references, or elements of an unknown type");
  Result<std::vector<Stored::Bytes>> all =
      from.stored.attribute(from.object, name, count, is_text ? 1 : H5Tget_size(item.get()));
  if (!all) return not_told(all.error().message());
  std::size_t next = 0;
  const auto part = [&](const auto& self, std::span<const hsize_t> extents) -> Told {
    if (extents.empty()) return varying(item.get(), native.get(), std::move((*all)[next++]));
    Told list{Json::array(), {}};
    for (hsize_t i = 0; i < extents[0]; ++i) {
      Told one = self(self, extents.subspan(1));
      if (!one.why.empty()) return one;
      list.value.push_back(std::move(one.value));
    }
    return list;
  };
  return part(part, shape);
}

Told value_of(hid_t attribute, const std::string& name, const StoredOf& from) {
  const Handle stored = type_handle(H5Aget_type(attribute));
  const Handle space = space_handle(H5Aget_space(attribute));
  if (!stored || !space) return not_told("libhdf5 cannot open it: " + last_failure());
  if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) return {};  // that is what None says
  const bool varying = varies(stored.get());
  const Handle type = type_handle(varying ? H5Tcopy(stored.get())
                                          : H5Tget_native_type(stored.get(), H5T_DIR_ASCEND));
  if (!type) return not_told("references, or elements of an unknown type");
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  const std::size_t size = H5Tget_size(type.get());
  if (count < 0 || count > kMostElements || size > kMostBytes / std::size_t(count + 1)) {
    return not_told("too many elements");
  }
  std::vector<hsize_t> shape(std::size_t(std::max(H5Sget_simple_extent_ndims(space.get()), 0)));
  if (!shape.empty()) H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr);
  for (const hsize_t extent : shape) {  // each by itself: there may be a 0 among them
    if (extent > hsize_t(kMostElements)) return not_told("too many elements");
  }
  if (varying) return varying_value(name, stored.get(), std::uint64_t(count), shape, from);
  std::vector<std::byte> bytes(std::max<std::size_t>(size * std::size_t(count), 1));
  if (count > 0 && H5Aread(attribute, type.get(), bytes.data()) < 0) {
    return not_told("libhdf5 cannot read it: " + last_failure());
  }
  const std::byte* at = bytes.data();
  return shaped(type.get(), shape, at);
}

// As dump() does, but with the words that Python takes for numbers that JSON has not.
void write(const Json& value, std::string& into) {
  const auto plain = [&](const Json& one) {
    into += one.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  const char* between = "";
  if (value.is_object()) {
    into += '{';
    for (const auto& [key, one] : value.items()) {
      into += between;
      plain(Json(key));
      into += ':';
      write(one, into);
      between = ",";
    }
    into += '}';
  } else if (value.is_array()) {
    into += '[';
    for (const Json& one : value) {
      into += between;
      write(one, into);
      between = ",";
    }
    into += ']';
  } else if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    const auto number = value.get<double>();
    into += std::isnan(number) ? "NaN" : number < 0 ? "-Infinity" : "Infinity";
  } else {
    plain(value);
  }
}

}  // namespace

std::string attributes_json(hid_t object, const StoredOf& stored) {
  struct All {
    const StoredOf& stored;
    Json found;
  } all{stored, Json::object()};
  hsize_t at = 0;
  H5Aiterate2(
      object, H5_INDEX_NAME, H5_ITER_INC, &at,
      [](hid_t where, const char* name, const H5A_info_t*, void* into) -> herr_t {
        All& to = *static_cast<All*>(into);
        const Handle attribute(H5Aopen(where, name, H5P_DEFAULT), &H5Aclose);
        Told one = attribute ? value_of(attribute.get(), name, to.stored)
                             : not_told("libhdf5 cannot open it");
        if (one.why.empty()) {
          to.found[name] = std::move(one.value);
        } else {
          to.found[kLeftOut][name] = std::move(one.why);
        }
        return 0;
      },
      &all);
  std::string text;
  write(all.found, text);
  return text;
}

}  // namespace penstock::formats::hdf5
