// Compiled once for each instruction set; the best one that the CPU has is chosen at run time.
#include "formats/tokens/widen.h"

#include <algorithm>
#include <cstring>

#include "core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "formats/tokens/widen.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace penstock::formats::tokens {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// From 32 bits, or from 16 by way of them.
template <class T, class Half>
void Widen(const T* HWY_RESTRICT from, std::size_t count, std::int64_t* HWY_RESTRICT to,
           [[maybe_unused]] const std::byte* next) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  using Wide = hwy::MakeWide<Half>;
  const hn::ScalableTag<Wide> wide;
  const hn::Rebind<Half, decltype(wide)> half;
  const hn::Rebind<T, decltype(wide)> narrow;
  const std::size_t lanes = hn::Lanes(wide);
  auto* const out = reinterpret_cast<Wide*>(to);
  const auto some = [&](std::size_t end) HWY_ATTR {
    for (; i + lanes <= end; i += lanes) {
      if constexpr (sizeof(T) == sizeof(Half)) {
        hn::StoreU(hn::PromoteTo(wide, hn::LoadU(narrow, from + i)), wide, out + i);
      } else {
        const auto tokens = hn::PromoteTo(half, hn::LoadU(narrow, from + i));
        hn::StoreU(hn::PromoteTo(wide, tokens), wide, out + i);
      }
    }
  };
  constexpr std::size_t kLine = 64 / sizeof(T);
  while (next != nullptr && i + std::max(lanes, kLine) <= count) {
    __builtin_prefetch(next + i * sizeof(T));
    some(i + std::max(lanes, kLine));
  }
  some(count);
#endif
  for (; i < count; ++i) to[i] = from[i];
}

void Widen16(const std::uint16_t* from, std::size_t count, std::int64_t* to,
             const std::byte* next) {
  Widen<std::uint16_t, std::uint32_t>(from, count, to, next);
}
void Widen32(const std::uint32_t* from, std::size_t count, std::int64_t* to,
             const std::byte* next) {
  Widen<std::uint32_t, std::uint32_t>(from, count, to, next);
}
void WidenSigned(const std::int32_t* from, std::size_t count, std::int64_t* to,
                 const std::byte* next) {
  Widen<std::int32_t, std::int32_t>(from, count, to, next);
}

}  // namespace HWY_NAMESPACE
}  // namespace penstock::formats::tokens
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::formats::tokens {

HWY_EXPORT(Widen16);
HWY_EXPORT(Widen32);
HWY_EXPORT(WidenSigned);

void widen(const std::uint16_t* from, std::size_t count, std::int64_t* to,
           const std::byte* next) noexcept {
  HWY_DYNAMIC_DISPATCH(Widen16)(from, count, to, next);
}
void widen(const std::uint32_t* from, std::size_t count, std::int64_t* to,
           const std::byte* next) noexcept {
  HWY_DYNAMIC_DISPATCH(Widen32)(from, count, to, next);
}
void widen(const std::int32_t* from, std::size_t count, std::int64_t* to,
           const std::byte* next) noexcept {
  HWY_DYNAMIC_DISPATCH(WidenSigned)(from, count, to, next);
}

namespace {

template <class T>
void widen_bytes(std::span<const std::byte> from, std::int64_t* to,
                 const std::byte* next) noexcept {
  const std::size_t count = from.size() / sizeof(T);
  const std::byte* at = from.data();
  if (reinterpret_cast<std::uintptr_t>(at) % alignof(T) == 0) {
    return widen(reinterpret_cast<const T*>(at), count, to, next);
  }
  for (std::size_t i = 0; i < count; ++i) {
    T token;
    std::memcpy(&token, at + i * sizeof(T), sizeof(T));
    to[i] = token;
  }
}

}  // namespace

void widen(DType dtype, std::span<const std::byte> from, std::int64_t* to,
           const std::byte* next) noexcept {
  switch (dtype) {
    case DType::uint16:
      return widen_bytes<std::uint16_t>(from, to, next);
    case DType::uint32:
      return widen_bytes<std::uint32_t>(from, to, next);
    default:
      return widen_bytes<std::int32_t>(from, to, next);
  }
}

}  // namespace penstock::formats::tokens
#endif
