#include "penstock/error.h"

namespace penstock {

std::string_view name_of(Code code) noexcept {
  switch (code) {
    case Code::invalid_argument:
      return "invalid argument";
    case Code::not_found:
      return "not found";
    case Code::no_field:
      return "no such field";
    case Code::io:
      return "i/o error";
    case Code::corrupt:
      return "corrupt";
    case Code::unsupported:
      return "unsupported";
    case Code::out_of_range:
      return "out of range";
    case Code::out_of_memory:
      return "out of memory";
    case Code::timeout:
      return "timeout";
    case Code::closed:
      return "closed";
    case Code::failed:
      return "failed";
    case Code::internal:
      return "internal error";
  }
  return "unknown";
}

Error& Error::in_file(std::string file) & {
  if (where_.file.empty()) where_.file = std::move(file);
  return *this;
}

Error& Error::at_offset(std::int64_t offset) & {
  if (where_.offset < 0) where_.offset = offset;
  return *this;
}

Error& Error::of_sample(std::string sample) & {
  if (where_.sample.empty()) where_.sample = std::move(sample);
  return *this;
}

std::string Error::to_string() const {
  std::string text(name_of(code_));
  text += ": ";
  text += message_;
  std::string place;
  const auto add = [&place](const std::string& part) {
    if (!place.empty()) place += ", ";
    place += part;
  };
  if (!where_.file.empty()) add("file " + where_.file);
  if (where_.offset >= 0) add("offset " + std::to_string(where_.offset));
  if (!where_.sample.empty()) add("sample " + where_.sample);
  if (!place.empty()) text += " (" + place + ")";
  return text;
}

}  // namespace penstock
