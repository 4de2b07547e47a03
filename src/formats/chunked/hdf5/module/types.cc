#include "formats/chunked/hdf5/module/types.h"

#include <cstring>

namespace penstock::formats::hdf5 {
namespace {

std::string in_quotes(std::string_view text) {
  std::string all(1, '\'');
  for (const char c : text) {
    if (c == '\'' || c == '\\') all += '\\';
    all += c;
  }
  return all += '\'';
}

std::string member_name(hid_t type, unsigned i) {
  char* text = H5Tget_member_name(type, i);
  const std::string name = text == nullptr ? "" : text;
  H5free_memory(text);
  return name;
}

char order_of(hid_t type) {
  return H5Tget_size(type) == 1 ? '|' : H5Tget_order(type) == H5T_ORDER_BE ? '>' : '<';
}

Error unreadable(const std::string& what) {
  return Error(Code::unsupported,
               what + " cannot be read; leave it out with fields=[...] of the others");
}

Result<TypeWords> made(hid_t type, char letter) {
  TypeWords words;
  words.bytes = H5Tget_size(type);
  words.descr.assign(1, order_of(type));
  words.descr += letter;
  words.descr += std::to_string(words.bytes);
  return words;
}

Result<TypeWords> integer(hid_t type) {
  const std::size_t size = H5Tget_size(type);
  if (H5Tget_precision(type) != 8 * size || (size != 1 && size != 2 && size != 4 && size != 8)) {
    return unreadable("integers of " + std::to_string(H5Tget_precision(type)) + " bits");
  }
  const bool plain = H5Tget_class(type) == H5T_INTEGER;
  return made(type, plain && H5Tget_sign(type) == H5T_SGN_2 ? 'i' : 'u');
}

Result<TypeWords> real(hid_t type) {
  std::size_t sign, exponent, exponent_bits, mantissa, mantissa_bits;
  H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits);
  const std::size_t size = H5Tget_size(type);
  const bool half = size == 2 && exponent_bits == 5 && mantissa_bits == 10;
  const bool usual = size == 4 && exponent_bits == 8 && mantissa_bits == 23;
  const bool wide = size == 8 && exponent_bits == 11 && mantissa_bits == 52;
  if (!half && !usual && !wide) {
    return unreadable("floating point of " + std::to_string(8 * size) + " bits of this layout");
  }
  return made(type, 'f');
}

Result<TypeWords> text(hid_t type) {
  if (H5Tis_variable_str(type) > 0)
    return unreadable("text of variable length inside of records or lists");
  const std::size_t size = H5Tget_size(type);
  TypeWords words{"|S" + std::to_string(size), {}, size, {}};
  const H5T_str_t end = H5Tget_strpad(type);
  if (end != H5T_STR_NULLPAD) words.texts.push_back({0, size, end == H5T_STR_SPACEPAD});
  return words;
}

Result<TypeWords> record(hid_t type) {
  if (is_complex(type)) {
    const Handle part = type_handle(H5Tget_member_type(type, 0));
    TypeWords words;
    words.bytes = H5Tget_size(type);
    words.descr.assign(1, order_of(part.get()));
    words.descr += 'c';
    words.descr += std::to_string(words.bytes);
    return words;
  }
  std::string names, formats, offsets;
  std::vector<chunked::Text> texts;
  for (int i = 0; i < H5Tget_nmembers(type); ++i) {
    const Handle member = type_handle(H5Tget_member_type(type, unsigned(i)));
    const Result<TypeWords> words = words_of(member.get());
    if (!words) return words;
    const bool nested = words->descr[0] == '{';
    std::string format = nested ? words->descr : in_quotes(words->descr);
    if (!words->inner.empty()) {
      std::string shape;
      for (const std::uint64_t extent : words->inner) shape += std::to_string(extent) + ", ";
      format.insert(0, 1, '(');
      format += ", (";
      format += shape;
      format += "))";
    }
    names += in_quotes(member_name(type, unsigned(i))) + ", ";
    formats += format + ", ";
    const std::size_t offset = H5Tget_member_offset(type, unsigned(i));
    offsets += std::to_string(offset) + ", ";
    const std::size_t end = offset + H5Tget_size(member.get());
    for (std::size_t at = offset; !words->texts.empty() && at < end; at += words->bytes) {
      for (const chunked::Text& one : words->texts) {
        texts.push_back({at + one.offset, one.bytes, one.spaces});
      }
    }
  }
  TypeWords words;
  words.texts = std::move(texts);
  words.bytes = H5Tget_size(type);
  words.descr = "{'names': [" + names + "], 'formats': [" + formats + "], 'offsets': [" + offsets +
                "], 'itemsize': " + std::to_string(words.bytes) + "}";
  return words;
}

Result<TypeWords> array(hid_t type) {
  const Handle base = type_handle(H5Tget_super(type));
  Result<TypeWords> words = words_of(base.get());
  if (!words) return words;
  hsize_t extents[H5S_MAX_RANK];
  const int rank = H5Tget_array_dims2(type, extents);
  words->inner.insert(words->inner.begin(), extents, extents + std::max(rank, 0));
  return words;
}

// Bytes of no known meaning; h5py notes there what NumPy has and HDF5 has not.
Result<TypeWords> opaque(hid_t type) {
  constexpr std::string_view kNumpy = "NUMPY:";
  char* text = H5Tget_tag(type);
  const std::string tag = text == nullptr ? "" : text;
  H5free_memory(text);
  TypeWords words;
  words.bytes = H5Tget_size(type);
  words.descr = "|V" + std::to_string(words.bytes);
  if (tag.starts_with(kNumpy) && tag.size() > kNumpy.size() + 2) {
    words.descr = tag.substr(kNumpy.size());
  }
  return words;
}

}  // namespace

// h5py's booleans are an enumeration.
bool is_boolean(hid_t type) {
  if (H5Tget_nmembers(type) != 2 || H5Tget_size(type) != 1) return false;
  for (unsigned i = 0; i < 2; ++i) {
    signed char value = -1;
    H5Tget_member_value(type, i, &value);
    const std::string name = member_name(type, i);
    if (!(name == "FALSE" && value == 0) && !(name == "TRUE" && value == 1)) return false;
  }
  return true;
}

// So are its complex numbers a record.
bool is_complex(hid_t type) {
  if (H5Tget_nmembers(type) != 2 || member_name(type, 0) != "r" || member_name(type, 1) != "i") {
    return false;
  }
  const Handle a = type_handle(H5Tget_member_type(type, 0));
  const Handle b = type_handle(H5Tget_member_type(type, 1));
  return H5Tget_class(a.get()) == H5T_FLOAT && H5Tequal(a.get(), b.get()) > 0 &&
         H5Tget_size(type) == 2 * H5Tget_size(a.get()) && H5Tget_size(a.get()) >= 4;
}

bool varies(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_STRING:
      return H5Tis_variable_str(type) > 0;
    case H5T_VLEN:
      return true;
    case H5T_ARRAY: {
      const Handle base = type_handle(H5Tget_super(type));
      return varies(base.get());
    }
    case H5T_COMPOUND:
      for (int i = 0; i < H5Tget_nmembers(type); ++i) {
        const Handle member = type_handle(H5Tget_member_type(type, unsigned(i)));
        if (varies(member.get())) return true;
      }
      return false;
    default:
      return false;
  }
}

Handle read_as(hid_t stored) {
  Handle type = type_handle(H5Tcopy(stored));
  const std::size_t size = H5Tget_size(stored);
  const bool narrow = H5Tget_class(stored) == H5T_INTEGER && H5Tget_precision(stored) < 8 * size;
  if (narrow && (H5Tset_offset(type.get(), 0) < 0 || H5Tset_precision(type.get(), 8 * size) < 0)) {
    return type_handle(H5Tcopy(stored));
  }
  return type;
}

Result<TypeWords> words_of(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
    case H5T_BITFIELD:
      return integer(type);
    case H5T_FLOAT:
      return real(type);
    case H5T_ENUM: {
      if (is_boolean(type)) return TypeWords{"|b1", {}, 1, {}};
      const Handle base = type_handle(H5Tget_super(type));
      return integer(base.get());
    }
    case H5T_STRING:
      return text(type);
    case H5T_COMPOUND:
      return record(type);
    case H5T_ARRAY:
      return array(type);
    case H5T_OPAQUE:
      return opaque(type);
    case H5T_VLEN:
      return unreadable("lists of variable length in which there are no single numbers");
    case H5T_REFERENCE:
      return unreadable("references");
    default:
      return unreadable("elements of this type");
  }
}

}  // namespace penstock::formats::hdf5
