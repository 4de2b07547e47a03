#include "storage/expand.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "storage/source.h"

namespace penstock::storage {
namespace {

constexpr std::size_t kMostNames = 1'000'000;
constexpr int kMostDepth = 32;

using Names = std::vector<std::string>;

// The end of the brace that opens at `open`, or npos.
std::size_t closing_brace(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}') --depth;
    if (text[i] == ',' && depth == 0) {
      parts.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  parts.push_back(text.substr(start));
  return parts;
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text.size() > 18 || error != std::errc() ||
      end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::string padded(std::int64_t value, std::size_t width) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  const std::size_t sign = value < 0 ? 1 : 0;
  if (digits.size() + sign < width) digits.insert(0, width - sign - digits.size(), '0');
  return sign != 0 ? "-" + digits : digits;
}

// "000..146": the numbers. No value: it is not a range. Too many: an empty list.
std::optional<Names> count_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const std::string_view low = text.substr(0, dots), high = text.substr(dots + 2);
  const auto first = number(low), last = number(high);
  if (!first || !last) return std::nullopt;
  const bool zeros = (low.size() > 1 && low[0] == '0') || (high.size() > 1 && high[0] == '0');
  const std::size_t width = zeros ? std::max(low.size(), high.size()) : 0;
  const std::int64_t step = *first <= *last ? 1 : -1;
  const auto count = std::uint64_t((*last - *first) * step) + 1;
  Names all;
  if (count > kMostNames) return all;
  for (std::uint64_t i = 0; i < count; ++i) {
    all.push_back(padded(*first + std::int64_t(i) * step, width));
  }
  return all;
}

// Appends what `text` stands for. False: too many names, or too deep.
bool expand_braces(std::string_view text, int depth, Names& into) {
  if (depth > kMostDepth) return false;
  for (std::size_t open = text.find('{'); open != std::string_view::npos;
       open = text.find('{', open + 1)) {
    const std::size_t close = closing_brace(text, open);
    if (close == std::string_view::npos) break;
    const std::string_view inside = text.substr(open + 1, close - open - 1);
    Names middles;
    if (std::optional<Names> counted = count_range(inside)) {
      if (counted->empty()) return false;
      middles = *std::move(counted);
    } else {
      const std::vector<std::string_view> parts = split_at_commas(inside);
      if (parts.size() < 2) continue;  // {} and {x} are plain text, as in a shell
      for (const std::string_view part : parts) {
        if (!expand_braces(part, depth + 1, middles)) return false;
      }
    }
    Names ends;
    if (!expand_braces(text.substr(close + 1), depth + 1, ends)) return false;
    if (into.size() + middles.size() * ends.size() > kMostNames) return false;
    const std::string before(text.substr(0, open));
    for (const std::string& middle : middles) {
      for (const std::string& end : ends) into.push_back(before + middle + end);
    }
    return true;
  }
  into.emplace_back(text);
  return true;
}

bool exists(const std::string& name) {
  struct stat info;
  return ::stat(name.c_str(), &info) == 0;
}

Status expand_glob(const std::string& name, Names& into) {
  if (is_url(name) || name.find_first_of("*?[") == std::string::npos || exists(name)) {
    into.push_back(name);
    return {};
  }
  ::glob_t found{};
  const int outcome = ::glob(name.c_str(), GLOB_NOSORT | GLOB_TILDE, nullptr, &found);
  const std::size_t start = into.size();
  if (outcome == 0) into.insert(into.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (outcome == GLOB_NOSPACE) return Error(Code::out_of_memory, "too many files").in_file(name);
  if (into.size() == start) {
    return Error(Code::not_found, "no file matches this pattern").in_file(name);
  }
  std::sort(into.begin() + std::ptrdiff_t(start), into.end());
  return {};
}

}  // namespace

Result<Names> expand(const std::string& pattern) {
  if (pattern.empty()) return Error(Code::invalid_argument, "a name is empty");
  if (!is_url(pattern) && exists(pattern)) return Names{pattern};
  Names braced;
  if (!expand_braces(pattern, 0, braced)) {
    return Error(Code::invalid_argument,
                 "the braces give more than a million names, or are nested "
                 "too deeply")
        .in_file(pattern);
  }
  Names all;
  for (const std::string& name : braced) {
    if (const Status status = expand_glob(name, all); !status) return status.error();
  }
  return all;
}

Result<Names> expand(const Names& patterns) {
  Names all;
  for (const std::string& pattern : patterns) {
    Result<Names> names = expand(pattern);
    if (!names) return names;
    all.insert(all.end(), std::make_move_iterator(names->begin()),
               std::make_move_iterator(names->end()));
  }
  return all;
}

}  // namespace penstock::storage
