// Marks pooled memory that nobody owns, so that AddressSanitizer sees a use after free or beyond
// the end although the pool never gave the memory back. Does nothing in other builds.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace penstock::detail {

inline void poison([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(memory, size);
#endif
}

inline void unpoison([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(memory, size);
#endif
}

}  // namespace penstock::detail
