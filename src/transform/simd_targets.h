// Which instruction sets the transform kernels are compiled for. Include before Highway.
#pragma once

#include "core/simd_targets.h"

// AVX-512 of Ice Lake and Zen 4 on: has the byte shuffle across a whole vector. Highway leaves it
// out unless asked.
#define HWY_WANT_AVX3_DL
