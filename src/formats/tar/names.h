// Names of members, as WebDataset reads them: everything up to the first dot of the base name is
// the sample's key (folders included), what follows the dot is the field, in lower case.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace penstock::formats::tar {

struct SplitName {
  std::string_view key;
  std::string_view field;  // as written
};

// No value for names that belong to no sample: no dot, nothing before it, a folder.
std::optional<SplitName> split_name(std::string_view name) noexcept;

// Field names as small numbers, in order of first appearance.
class FieldNames {
 public:
  static constexpr std::size_t limit = 65535;

  // The number of a name, in lower case; new names get one. No value beyond the limit.
  std::optional<std::uint16_t> number(std::string_view name);
  // `near`: the number to try first, such as that of the same place in the sample before.
  std::optional<std::uint16_t> number(std::string_view name, std::size_t near) {
    if (near >= names_.size()) near = 0;
    if (near < names_.size() && names_[near] == name) return std::uint16_t(near);
    return number(name);
  }

  const std::deque<std::string>& all() const noexcept { return names_; }

 private:
  std::deque<std::string> names_;  // which never move: records point to them
  std::unordered_map<std::string, std::uint16_t> numbers_;
};

}  // namespace penstock::formats::tar
