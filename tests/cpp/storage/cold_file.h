// Files that the system's cache does not hold.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "storage/file.h"

namespace penstock::storage {

inline constexpr std::size_t kPage = 4096;

// Which pages of a file are in memory.
inline std::vector<bool> pages_in_memory(const std::string& path) {
  const Descriptor file = open_descriptor(path, O_RDONLY);
  const auto size = std::size_t(::lseek(file.get(), 0, SEEK_END));
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  std::vector<unsigned char> pages((size + kPage - 1) / kPage);
  (void)::mincore(map, size, pages.data());
  ::munmap(map, size);
  std::vector<bool> in_memory;
  for (const unsigned char page : pages) in_memory.push_back((page & 1) != 0);
  return in_memory;
}

// False where it cannot be done: in a file system that has no disk.
inline bool drop_from_memory(const std::string& path) {
  const Descriptor file = open_descriptor(path, O_RDONLY);
  if (::fsync(file.get()) != 0) return false;
  if (::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED) != 0) return false;
  for (const bool page : pages_in_memory(path)) {
    if (page) return false;
  }
  return true;
}

// Waits until a page is there.
inline void wait_for_page(const std::string& path, std::size_t page) {
  while (!pages_in_memory(path)[page]) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace penstock::storage
