#include "formats/tar/names.h"

namespace penstock::formats::tar {

std::optional<SplitName> split_name(std::string_view name) noexcept {
  const std::size_t slash = name.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = name.find('.', base);
  if (dot == std::string_view::npos || dot == base) return std::nullopt;
  return SplitName{name.substr(0, dot), name.substr(dot + 1)};
}

std::optional<std::uint16_t> FieldNames::number(std::string_view name) {
  std::string lower(name);
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = char(letter - 'A' + 'a');
  }
  if (const auto found = numbers_.find(lower); found != numbers_.end()) return found->second;
  if (names_.size() >= limit) return std::nullopt;
  const auto number = std::uint16_t(names_.size());
  names_.push_back(lower);
  numbers_.emplace(std::move(lower), number);
  return number;
}

}  // namespace penstock::formats::tar
