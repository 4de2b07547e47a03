// Compiled once for each instruction set; the best one that the CPU has is chosen at run time.
#include "data/widen.h"

#include "core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/widen.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace penstock::data {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// From 32 bits, or from 16 by way of them.
template <class T, class Half>
void Widen(const T* HWY_RESTRICT from, std::size_t count, std::int64_t* HWY_RESTRICT to) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  using Wide = hwy::MakeWide<Half>;
  const hn::ScalableTag<Wide> wide;
  const hn::Rebind<Half, decltype(wide)> half;
  const hn::Rebind<T, decltype(wide)> narrow;
  const std::size_t lanes = hn::Lanes(wide);
  auto* const out = reinterpret_cast<Wide*>(to);
  for (; i + lanes <= count; i += lanes) {
    if constexpr (sizeof(T) == sizeof(Half)) {
      hn::StoreU(hn::PromoteTo(wide, hn::LoadU(narrow, from + i)), wide, out + i);
    } else {
      const auto tokens = hn::PromoteTo(half, hn::LoadU(narrow, from + i));
      hn::StoreU(hn::PromoteTo(wide, tokens), wide, out + i);
    }
  }
#endif
  for (; i < count; ++i) to[i] = from[i];
}

void Widen16(const std::uint16_t* from, std::size_t count, std::int64_t* to) {
  Widen<std::uint16_t, std::uint32_t>(from, count, to);
}
void Widen32(const std::uint32_t* from, std::size_t count, std::int64_t* to) {
  Widen<std::uint32_t, std::uint32_t>(from, count, to);
}
void WidenSigned(const std::int32_t* from, std::size_t count, std::int64_t* to) {
  Widen<std::int32_t, std::int32_t>(from, count, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace penstock::data
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::data {

HWY_EXPORT(Widen16);
HWY_EXPORT(Widen32);
HWY_EXPORT(WidenSigned);

void widen(const std::uint16_t* from, std::size_t count, std::int64_t* to) noexcept {
  HWY_DYNAMIC_DISPATCH(Widen16)(from, count, to);
}
void widen(const std::uint32_t* from, std::size_t count, std::int64_t* to) noexcept {
  HWY_DYNAMIC_DISPATCH(Widen32)(from, count, to);
}
void widen(const std::int32_t* from, std::size_t count, std::int64_t* to) noexcept {
  HWY_DYNAMIC_DISPATCH(WidenSigned)(from, count, to);
}

}  // namespace penstock::data
#endif
