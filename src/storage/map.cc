#include "storage/map.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>

#include "storage/file.h"

namespace penstock::storage {

Result<std::shared_ptr<const Map>> Map::open(const std::string& path) {
  const Descriptor file = open_descriptor(path, O_RDONLY | O_NONBLOCK);
  if (!file) return system_error(errno, "open", path);
  const Result<Stamp> stamp = file_stamp(file, path);
  if (!stamp) return stamp.error();
  const auto size = std::size_t(stamp->size);
  if (size == 0) {
    return std::make_shared<const Map>(std::span<const std::byte>(), *stamp);
  }
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (map == MAP_FAILED) return system_error(errno, "map", path);
  return std::make_shared<const Map>(std::span(static_cast<const std::byte*>(map), size), *stamp);
}

Map::~Map() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void Map::advise(Pattern pattern) const noexcept {
  if (bytes_.empty()) return;
  (void)::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(),
                  pattern == Pattern::random ? MADV_RANDOM : MADV_SEQUENTIAL);
}

}  // namespace penstock::storage
