// Which instruction sets the transform kernels are compiled for. Include before Highway.
#pragma once

// AVX-512 of Ice Lake and Zen 4 on: has the byte shuffle across a whole vector. Highway leaves it
// out unless asked.
#define HWY_WANT_AVX3_DL

// The kernels need to know the vector's size when compiled. NEON serves these processors.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
