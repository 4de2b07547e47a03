#include "formats/tar/pax.h"

#include <charconv>

namespace penstock::formats::tar {

bool parse_decimal(std::string_view text, std::uint64_t& into) noexcept {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return false;
  if (value > std::uint64_t(1) << 62) return false;
  into = value;
  return true;
}

bool take_pax_record(std::string_view& text, PaxRecord& into) noexcept {
  const std::size_t space = text.find(' ');
  std::uint64_t length;
  if (space == std::string_view::npos || !parse_decimal(text.substr(0, space), length))
    return false;
  if (length > text.size() || length < space + 2 || text[length - 1] != '\n') return false;
  const std::string_view body = text.substr(space + 1, length - space - 2);
  const std::size_t equals = body.find('=');
  if (equals == std::string_view::npos) return false;
  into = {body.substr(0, equals), body.substr(equals + 1)};
  text.remove_prefix(length);
  return true;
}

}  // namespace penstock::formats::tar
