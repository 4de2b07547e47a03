#include "formats/chunked/hdf5/module/attributes.h"

#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "formats/chunked/hdf5/module/handle.h"
#include "formats/chunked/hdf5/module/types.h"

namespace penstock::formats::hdf5 {
namespace {

using Json = nlohmann::json;

constexpr hssize_t kMostElements = 1 << 20;

// Elements as a list of lists, by shape.
Json shaped(const std::vector<Json>& flat, const std::vector<hsize_t>& shape, std::size_t d,
            std::size_t& next) {
  if (d == shape.size()) return next < flat.size() ? flat[next++] : Json();
  Json list = Json::array();
  for (hsize_t i = 0; i < shape[d]; ++i) list.push_back(shaped(flat, shape, d + 1, next));
  return list;
}

template <class T>
bool read_numbers(hid_t attribute, hid_t memory_type, std::size_t count, std::vector<Json>& into,
                  bool truth = false) {
  std::vector<T> values(count);
  if (H5Aread(attribute, memory_type, values.data()) < 0) return false;
  for (const T value : values) into.push_back(truth ? Json(value != 0) : Json(value));
  return true;
}

bool read_texts(hid_t attribute, hid_t type, hid_t space, std::size_t count,
                std::vector<Json>& into) {
  if (H5Tis_variable_str(type) > 0) {
    std::vector<char*> values(count, nullptr);
    const Handle memory = type_handle(H5Tcopy(H5T_C_S1));
    H5Tset_size(memory.get(), H5T_VARIABLE);
    H5Tset_cset(memory.get(), H5Tget_cset(type));
    if (H5Aread(attribute, memory.get(), values.data()) < 0) return false;
    for (const char* text : values) into.push_back(text == nullptr ? "" : text);
    H5Dvlen_reclaim(memory.get(), space, H5P_DEFAULT, values.data());
    return true;
  }
  const std::size_t size = H5Tget_size(type);
  std::vector<char> bytes(size * count);
  if (H5Aread(attribute, type, bytes.data()) < 0) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const char* text = bytes.data() + i * size;
    into.push_back(std::string(text, ::strnlen(text, size)));
  }
  return true;
}

Json value_of(hid_t attribute) {
  const Handle type = type_handle(H5Aget_type(attribute));
  const Handle space = space_handle(H5Aget_space(attribute));
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (!type || !space || count <= 0 || count > kMostElements) return Json();
  std::vector<hsize_t> shape(std::size_t(std::max(H5Sget_simple_extent_ndims(space.get()), 0)));
  if (!shape.empty()) H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr);
  std::vector<Json> flat;
  bool read = false;
  const auto many = std::size_t(count);
  switch (H5Tget_class(type.get())) {
    case H5T_INTEGER:
      read = H5Tget_sign(type.get()) == H5T_SGN_NONE
                 ? read_numbers<unsigned long long>(attribute, H5T_NATIVE_ULLONG, many, flat)
                 : read_numbers<long long>(attribute, H5T_NATIVE_LLONG, many, flat);
      break;
    case H5T_FLOAT:
      read = read_numbers<double>(attribute, H5T_NATIVE_DOUBLE, many, flat);
      break;
    case H5T_ENUM: {
      const Result<TypeWords> words = words_of(type.get());
      if (words && words->descr == "|b1") {
        read = read_numbers<signed char>(attribute, type.get(), many, flat, true);
      }
      break;
    }
    case H5T_STRING:
      read = read_texts(attribute, type.get(), space.get(), many, flat);
      break;
    default:
      break;
  }
  std::size_t next = 0;
  return read ? shaped(flat, shape, 0, next) : Json();
}

}  // namespace

std::string attributes_json(hid_t object) {
  Json all = Json::object();
  hsize_t at = 0;
  H5Aiterate2(
      object, H5_INDEX_NAME, H5_ITER_INC, &at,
      [](hid_t where, const char* name, const H5A_info_t*, void* into) -> herr_t {
        const Handle attribute(H5Aopen(where, name, H5P_DEFAULT), &H5Aclose);
        if (attribute) (*static_cast<Json*>(into))[name] = value_of(attribute.get());
        return 0;
      },
      &all);
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace penstock::formats::hdf5
