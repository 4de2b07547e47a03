// The inner loops run over all signals and over all that has the same factors, so that they are
// long and without branches.
#include "transform/fft_kernels.h"

#include "transform/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transform/fft_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace penstock {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, kFftLanes>;
using V = hn::Vec<D>;
constexpr std::size_t step = hn::MaxLanes(D());

// A complex number in each lane.
struct Z {
  V re, im;
};

HWY_INLINE Z load(const double* re, const double* im) {
  return {hn::LoadU(D(), re), hn::LoadU(D(), im)};
}
HWY_INLINE Z add(Z a, Z b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
HWY_INLINE Z sub(Z a, Z b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
HWY_INLINE Z scale(Z a, double factor) {
  const V all = hn::Set(D(), factor);
  return {hn::Mul(a.re, all), hn::Mul(a.im, all)};
}
HWY_INLINE Z minus_i(Z a) {
  return {a.im, hn::Neg(a.re)};
}
HWY_INLINE Z turned(Z a, Z by) {
  return {hn::Sub(hn::Mul(a.re, by.re), hn::Mul(a.im, by.im)),
          hn::Add(hn::Mul(a.re, by.im), hn::Mul(a.im, by.re))};
}
HWY_INLINE Z all(const double* turn) {
  return {hn::Set(D(), turn[0]), hn::Set(D(), turn[1])};
}

// Where the values of one butterfly come from and go to.
struct Place {
  FftBlocks at;
  std::size_t in_step, out_step;
  const double* turns;
  std::size_t count;

  HWY_INLINE Z in(std::size_t which, std::size_t i) const {
    return load(at.in_re + which * in_step + i, at.in_im + which * in_step + i);
  }
  HWY_INLINE void out(std::size_t which, std::size_t i, Z z) const {
    hn::StoreU(z.re, D(), at.out_re + which * out_step + i);
    hn::StoreU(z.im, D(), at.out_im + which * out_step + i);
  }
  HWY_INLINE Z turn(std::size_t which) const { return all(turns + 2 * (which - 1)); }
};

void radix2(const Place p) {
  const Z t1 = p.turn(1);
  for (std::size_t i = 0; i < p.count; i += step) {
    const Z a = p.in(0, i), b = p.in(1, i);
    p.out(0, i, add(a, b));
    p.out(1, i, turned(sub(a, b), t1));
  }
}

void radix3(const Place p) {
  const Z t1 = p.turn(1), t2 = p.turn(2);
  for (std::size_t i = 0; i < p.count; i += step) {
    const Z a = p.in(0, i), b = p.in(1, i), c = p.in(2, i);
    const Z both = add(b, c), middle = sub(a, scale(both, 0.5));
    const Z side = minus_i(scale(sub(b, c), 0.866025403784438647));
    p.out(0, i, add(a, both));
    p.out(1, i, turned(add(middle, side), t1));
    p.out(2, i, turned(sub(middle, side), t2));
  }
}

void radix4(const Place p) {
  const Z t1 = p.turn(1), t2 = p.turn(2), t3 = p.turn(3);
  for (std::size_t i = 0; i < p.count; i += step) {
    const Z a = p.in(0, i), b = p.in(1, i), c = p.in(2, i), d = p.in(3, i);
    const Z e = add(a, c), f = sub(a, c), g = add(b, d), h = minus_i(sub(b, d));
    p.out(0, i, add(e, g));
    p.out(1, i, turned(add(f, h), t1));
    p.out(2, i, turned(sub(e, g), t2));
    p.out(3, i, turned(sub(f, h), t3));
  }
}

void radix5(const Place p) {
  constexpr double c1 = 0.309016994374947424, c2 = -0.809016994374947424;
  constexpr double s1 = 0.951056516295153572, s2 = 0.587785252292473129;
  const Z t1 = p.turn(1), t2 = p.turn(2), t3 = p.turn(3), t4 = p.turn(4);
  for (std::size_t i = 0; i < p.count; i += step) {
    const Z a = p.in(0, i), v1 = p.in(1, i), v2 = p.in(2, i), v3 = p.in(3, i), v4 = p.in(4, i);
    const Z b = add(v1, v4), c = sub(v1, v4), d = add(v2, v3), e = sub(v2, v3);
    const Z f = add(a, add(scale(b, c1), scale(d, c2)));
    const Z g = add(a, add(scale(b, c2), scale(d, c1)));
    const Z h = minus_i(add(scale(c, s1), scale(e, s2)));
    const Z k = minus_i(sub(scale(c, s2), scale(e, s1)));
    p.out(0, i, add(a, add(b, d)));
    p.out(1, i, turned(add(f, h), t1));
    p.out(2, i, turned(add(g, k), t2));
    p.out(3, i, turned(sub(g, k), t3));
    p.out(4, i, turned(sub(f, h), t4));
  }
}

// Any other factor, from the definition.
void radix_any(const Place p, std::size_t radix, const double* roots) {
  for (std::size_t u = 0; u < radix; ++u) {
    for (std::size_t i = 0; i < p.count; i += step) {
      Z sum = p.in(0, i);
      for (std::size_t t = 1; t < radix; ++t) {
        sum = add(sum, turned(p.in(t, i), all(roots + 2 * (t * u % radix))));
      }
      p.out(u, i, u == 0 ? sum : turned(sum, p.turn(u)));
    }
  }
}

void DoPass(const FftPass& pass, const FftBlocks& blocks) {
  const std::size_t count = pass.stride * kFftLanes;
  for (std::size_t k = 0; k < pass.rest; ++k) {
    const std::size_t in = k * count, out = k * pass.radix * count;
    const Place place{
        {blocks.in_re + in, blocks.in_im + in, blocks.out_re + out, blocks.out_im + out},
        pass.rest * count,
        count,
        pass.turns.data() + 2 * (pass.radix - 1) * k,
        count};
    if (pass.radix == 4) {
      radix4(place);
    } else if (pass.radix == 2) {
      radix2(place);
    } else if (pass.radix == 3) {
      radix3(place);
    } else if (pass.radix == 5) {
      radix5(place);
    } else {
      radix_any(place, pass.radix, pass.roots.data());
    }
  }
}

void Split(std::size_t half, const double* turns, const FftBlocks& blocks) {
  for (std::size_t k = 0; k <= half; ++k) {
    const std::size_t a = k % half * kFftLanes, b = (half - k) % half * kFftLanes;
    const Z turn = all(turns + 2 * k);
    for (std::size_t i = 0; i < kFftLanes; i += step) {
      const Z one = load(blocks.in_re + a + i, blocks.in_im + a + i);
      const Z mirrored = load(blocks.in_re + b + i, blocks.in_im + b + i);
      const Z other{mirrored.re, hn::Neg(mirrored.im)};
      const Z even = scale(add(one, other), 0.5), odd = minus_i(scale(sub(one, other), 0.5));
      const Z bin = add(even, turned(odd, turn));
      hn::StoreU(bin.re, D(), blocks.out_re + k * kFftLanes + i);
      hn::StoreU(bin.im, D(), blocks.out_im + k * kFftLanes + i);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace penstock
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock {

HWY_EXPORT(DoPass);
HWY_EXPORT(Split);

void fft_pass(const FftPass& pass, const FftBlocks& blocks) {
  HWY_DYNAMIC_DISPATCH(DoPass)(pass, blocks);
}

void fft_split(std::size_t half, const double* turns, const FftBlocks& blocks) {
  HWY_DYNAMIC_DISPATCH(Split)(half, turns, blocks);
}

}  // namespace penstock
#endif
