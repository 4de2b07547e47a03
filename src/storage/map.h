// Map: the bytes of a whole file as memory, read when they are looked at and shared with the
// system's cache.
//
// For files that nobody changes: one that becomes shorter while it is mapped takes the process down
// where it is looked at, and one that is written to shows the new bytes. Reads through a Source
// answer with an Error instead.
//
// Thread safety: never changes; any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "penstock/error.h"
#include "storage/source.h"

namespace penstock::storage {

class Map {
 public:
  // Fails if it is not a regular file. An empty file has no bytes.
  static Result<std::shared_ptr<const Map>> open(const std::string& path);

  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  const Stamp& stamp() const noexcept { return stamp_; }
  void advise(Pattern pattern) const noexcept;

  Map(std::span<const std::byte> bytes, Stamp stamp) noexcept : bytes_(bytes), stamp_(stamp) {}
  Map(const Map&) = delete;
  Map& operator=(const Map&) = delete;
  ~Map();

 private:
  std::span<const std::byte> bytes_;
  Stamp stamp_;
};

}  // namespace penstock::storage
