// A byte depends on the one to its left, so there is no way but pixel by pixel; the bytes of a
// pixel of three and more go through a vector together, 16 bits each. Compiled once for each
// instruction set; the best one that the CPU has is chosen at run time.
#include "core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "media/image/png_unfilter.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <cstring>
#include <type_traits>

#include "media/image/png_unfilter.h"

HWY_BEFORE_NAMESPACE();
namespace penstock::media {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
constexpr int kVectorsFrom = 99;
#else
constexpr int kVectorsFrom = 3;  // bytes of a pixel

using Whole = hn::FixedTag<std::uint64_t, 1>;
using Narrow = hn::FixedTag<std::uint8_t, 8>;
using WideTag = hn::FixedTag<std::int16_t, 8>;
using Wide = hn::Vec<WideTag>;

template <int Step>
HWY_INLINE Wide Load(const std::uint8_t* p) {
  std::uint64_t bytes = 0;
  if constexpr (Step == 3 || Step == 6) {  // through memory it would wait for the bytes in parts
    std::conditional_t<Step == 3, std::uint16_t, std::uint32_t> low;
    std::conditional_t<Step == 3, std::uint8_t, std::uint16_t> high;
    std::memcpy(&low, p, sizeof(low));
    std::memcpy(&high, p + sizeof(low), sizeof(high));
    bytes = low | std::uint64_t(high) << (8 * sizeof(low));
  } else {
    std::memcpy(&bytes, p, Step);
  }
  return hn::PromoteTo(WideTag(), hn::BitCast(Narrow(), hn::Set(Whole(), bytes)));
}

// Writes the low byte of each lane, and gives back what was written.
template <int Step>
HWY_INLINE Wide Store(Wide sum, std::uint8_t* p) {
  const Wide kept = hn::And(sum, hn::Set(WideTag(), 255));
  const std::uint64_t bytes = hn::GetLane(hn::BitCast(Whole(), hn::DemoteTo(Narrow(), kept)));
  std::memcpy(p, &bytes, Step);
  return kept;
}

template <int Step>
HWY_INLINE void VectorAverage(std::uint8_t* row, const std::uint8_t* above, std::int64_t bytes) {
  Wide left = hn::Zero(WideTag());
  for (std::int64_t i = 0; i + Step <= bytes; i += Step) {
    const Wide mean = hn::ShiftRight<1>(hn::Add(left, Load<Step>(above + i)));
    left = Store<Step>(hn::Add(Load<Step>(row + i), mean), row + i);
  }
}

template <int Step>
HWY_INLINE void VectorPaeth(std::uint8_t* row, const std::uint8_t* above, std::int64_t bytes) {
  Wide left = hn::Zero(WideTag()), corner = left;
  for (std::int64_t i = 0; i + Step <= bytes; i += Step) {
    const Wide up = Load<Step>(above + i);
    const Wide rise = hn::Sub(up, corner), run = hn::Sub(left, corner);
    const Wide to_left = hn::Abs(rise), to_up = hn::Abs(run);
    const Wide to_corner = hn::Abs(hn::Add(rise, run));
    const Wide least = hn::Min(to_corner, hn::Min(to_left, to_up));
    const Wide guess = hn::IfThenElse(hn::Eq(least, to_left), left,
                                      hn::IfThenElse(hn::Eq(least, to_up), up, corner));
    left = Store<Step>(hn::Add(Load<Step>(row + i), guess), row + i);
    corner = up;
  }
}
#endif

template <int Step>
HWY_INLINE void UndoSub(std::uint8_t* row, std::int64_t bytes) {
  std::uint8_t left[Step] = {};
  for (std::int64_t i = 0; i + Step <= bytes; i += Step) {
    for (int k = 0; k < Step; ++k) row[i + k] = left[k] = std::uint8_t(row[i + k] + left[k]);
  }
}

template <int Step>
HWY_INLINE void UndoAverage(std::uint8_t* row, const std::uint8_t* above, std::int64_t bytes) {
  if constexpr (Step >= kVectorsFrom) {
    return VectorAverage<Step>(row, above, bytes);
  }
  std::uint8_t left[Step] = {};
  for (std::int64_t i = 0; i + Step <= bytes; i += Step) {
    for (int k = 0; k < Step; ++k) {
      row[i + k] = left[k] = std::uint8_t(row[i + k] + (left[k] + above[i + k]) / 2);
    }
  }
}

template <int Step>
HWY_INLINE void UndoPaeth(std::uint8_t* row, const std::uint8_t* above, std::int64_t bytes) {
  if constexpr (Step >= kVectorsFrom) {
    return VectorPaeth<Step>(row, above, bytes);
  }
  std::uint8_t left[Step] = {}, corner[Step] = {};
  for (std::int64_t i = 0; i + Step <= bytes; i += Step) {
    for (int k = 0; k < Step; ++k) {
      const std::uint8_t up = above[i + k];
      row[i + k] = left[k] = std::uint8_t(row[i + k] + png_paeth(left[k], up, corner[k]));
      corner[k] = up;
    }
  }
}

template <int Step>
bool Undo(int type, std::uint8_t* row, const std::uint8_t* above, std::int64_t bytes) {
  switch (type) {
    case 0:
      return true;
    case 1:
      UndoSub<Step>(row, bytes);
      return true;
    case 2:
      for (std::int64_t i = 0; i < bytes; ++i) row[i] = std::uint8_t(row[i] + above[i]);
      return true;
    case 3:
      UndoAverage<Step>(row, above, bytes);
      return true;
    case 4:
      UndoPaeth<Step>(row, above, bytes);
      return true;
    default:
      return false;
  }
}

bool UnfilterRow(int type, std::uint8_t* row, const std::uint8_t* above, std::int64_t bytes,
                 int step) {
  switch (step) {
    case 1:
      return Undo<1>(type, row, above, bytes);
    case 2:
      return Undo<2>(type, row, above, bytes);
    case 3:
      return Undo<3>(type, row, above, bytes);
    case 4:
      return Undo<4>(type, row, above, bytes);
    case 6:
      return Undo<6>(type, row, above, bytes);
    case 8:
      return Undo<8>(type, row, above, bytes);
    default:
      return false;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace penstock::media
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::media {

HWY_EXPORT(UnfilterRow);

bool unfilter_png_row(int type, std::uint8_t* row, const std::uint8_t* above, std::int64_t bytes,
                      int step) noexcept {
  return HWY_DYNAMIC_DISPATCH(UnfilterRow)(type, row, above, bytes, step);
}

}  // namespace penstock::media
#endif
