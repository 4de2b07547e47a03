// Host memory. Large blocks are mapped apart from the heap, aligned for huge pages: filling a fresh
// batch then costs one page fault per 2 MB instead of 512, and freeing it returns it to the system.
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#include "penstock/buffer.h"

namespace penstock {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kMapFrom = 2 * kHugePage;
constexpr std::size_t kPage = 64 << 10;  // a multiple of every page size in use

constexpr std::size_t whole_pages(std::size_t size) noexcept {
  return (size + kPage - 1) / kPage * kPage;
}

void* map_aligned(std::size_t size) noexcept {
  const std::size_t length = size + kHugePage;
  void* mapped = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* start = static_cast<std::byte*>(mapped);
  const std::size_t head = (0 - reinterpret_cast<std::uintptr_t>(start)) % kHugePage;
  if (head > 0) munmap(start, head);
  if (head < kHugePage) munmap(start + head + size, kHugePage - head);
  return start + head;
}

class HostMemory final : public MemorySource {
 public:
  void* allocate(std::size_t size) noexcept override {
    if (size < kMapFrom) return std::aligned_alloc(kBufferAlignment, size);
    void* memory = map_aligned(whole_pages(size));
    if (memory == nullptr) return nullptr;
    // Whole huge pages only, so that the last part of a block costs no more than it needs. The
    // advice may be refused (no huge pages here): the memory is as good without it.
    (void)madvise(memory, size / kHugePage * kHugePage, MADV_HUGEPAGE);
    return memory;
  }

  void free(void* memory, std::size_t size) noexcept override {
    if (size < kMapFrom) {
      std::free(memory);
    } else {
      munmap(memory, whole_pages(size));
    }
  }
};

}  // namespace

std::shared_ptr<MemorySource> host_memory() {
  static const std::shared_ptr<MemorySource> source = std::make_shared<HostMemory>();
  return source;
}

}  // namespace penstock
