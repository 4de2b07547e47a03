// Running a test with every instruction set that the machine has.
#pragma once

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cstdint>

namespace penstock {

// Runs `body` once per instruction set this machine has, and once with none.
template <class Body>
void for_each_target(const Body& body) {
  hwy::SetSupportedTargetsForTest(0);
  const std::int64_t supported = hwy::SupportedTargets();
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t target = std::int64_t{1} << bit;
    if ((supported & target) == 0 && target != HWY_SCALAR) continue;
    hwy::SetSupportedTargetsForTest(target);
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace penstock
