// JSON of Zarr's metadata: lookups that answer with nothing instead of throwing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/error.h"

namespace penstock::formats::zarr {

using Json = nlohmann::json;

inline Error bad_metadata(const std::string& what) {
  return Error(Code::corrupt, "the Zarr metadata is damaged: " + what);
}

// Brackets within brackets, at most: what goes down into them must not run out of stack.
inline int depth_of(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      in_text = !in_text;
    } else if (in_text) {
      if (c == '\\') ++i;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

inline Result<Json> parse_json(std::string_view text) {
  constexpr int kDeepest = 64;
  if (depth_of(text) > kDeepest) return bad_metadata("it is nested too deeply");
  Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (json.is_discarded() || !json.is_object()) return bad_metadata("it is not a JSON object");
  return json;
}

// A member, or null.
inline const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

// A member that is text, or "".
inline std::string text_member(const Json& object, const char* name) {
  const Json* found = member(object, name);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

inline std::optional<std::vector<std::uint64_t>> numbers(const Json* list) {
  if (list == nullptr || !list->is_array()) return std::nullopt;
  std::vector<std::uint64_t> all;
  for (const Json& one : *list) {
    if (!one.is_number_integer() || (!one.is_number_unsigned() && one.get<std::int64_t>() < 0)) {
      return std::nullopt;
    }
    all.push_back(one.get<std::uint64_t>());
  }
  return all;
}

// "zstd" or {"name": "zstd", "configuration": {...}}.
inline std::string name_in(const Json& extension) {
  return extension.is_string() ? extension.get<std::string>() : text_member(extension, "name");
}
inline const Json& configuration(const Json& extension) {
  static const Json none = Json::object();
  const Json* found = member(extension, "configuration");
  return found != nullptr && found->is_object() ? *found : none;
}

}  // namespace penstock::formats::zarr
