// Digests of names and counts, in an order. The same everywhere: no absolute path goes in.
#pragma once

#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::formats {

class Digest {
 public:
  void add(std::string_view text) noexcept {
    value_ = ::XXH3_64bits_withSeed(text.data(), text.size(), value_);
  }
  void add(std::uint64_t number) noexcept {
    value_ = ::XXH3_64bits_withSeed(&number, sizeof(number), value_);
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0;
};

// The length of the folder that all paths begin with, its slash included.
inline std::size_t common_folder(const std::vector<std::string>& paths) noexcept {
  if (paths.empty()) return 0;
  const std::string& first = paths[0];
  std::size_t length = first.rfind('/') + 1;  // npos + 1 is 0
  for (const std::string& path : paths) {
    const auto [a, b] = std::mismatch(first.begin(), first.begin() + std::ptrdiff_t(length),
                                      path.begin(), path.end());
    length = std::size_t(a - first.begin());
    while (length > 0 && first[length - 1] != '/') --length;
  }
  return length;
}

}  // namespace penstock::formats
