// Host memory. Large blocks are aligned for huge pages and ask for them: filling a fresh batch
// then costs one page fault per 2 MB instead of 512.
#include <sys/mman.h>

#include <cstdlib>

#include "penstock/buffer.h"

namespace penstock {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kHugePageFrom = 2 * kHugePage;

class HostMemory final : public MemorySource {
 public:
  void* allocate(std::size_t size) noexcept override {
    if (size < kHugePageFrom) return std::aligned_alloc(kBufferAlignment, size);
    void* memory = nullptr;
    if (posix_memalign(&memory, kHugePage, size) != 0) return nullptr;
    // Whole huge pages only, so that the last part of a block costs no more than it needs. The
    // advice may be refused (no huge pages here): the memory is as good without it.
    (void)madvise(memory, size / kHugePage * kHugePage, MADV_HUGEPAGE);
    return memory;
  }

  void free(void* memory, std::size_t) noexcept override { std::free(memory); }
};

}  // namespace

std::shared_ptr<MemorySource> host_memory() {
  static const std::shared_ptr<MemorySource> source = std::make_shared<HostMemory>();
  return source;
}

}  // namespace penstock
