// Which instruction sets kernels are compiled for. Include before Highway.
#pragma once

// The kernels need to know the vector's size when compiled. NEON serves these processors.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
