// Stockham's transform: every pass reads one block of memory and writes the other, and results come
// out in their order. The inner loops run over all signals and over all that has the same factors,
// so that they are long, without branches, and compilers make vectors of them.
#include "transform/fft.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace penstock {
namespace {

std::vector<std::size_t> factors_of(std::size_t n) {
  std::vector<std::size_t> factors;
  for (const std::size_t p : {4, 2, 3, 5}) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  }
  for (std::size_t p = 7; p * p <= n; p += 2) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  }
  if (n > 1) factors.push_back(n);
  return factors;
}

double angle(std::size_t k, std::size_t n) {
  return -2.0 * std::numbers::pi * double(k % n) / double(n);
}

// Where the values of one butterfly come from and go to.
struct Place {
  const float *in_re, *in_im;
  std::size_t in_step;
  float *out_re, *out_im;
  std::size_t out_step;
  const float* turns;
  std::size_t count;
};

inline void store(const Place& at, std::size_t which, std::size_t i, float re, float im) {
  const float c = at.turns[2 * (which - 1)], s = at.turns[2 * (which - 1) + 1];
  at.out_re[which * at.out_step + i] = re * c - im * s;
  at.out_im[which * at.out_step + i] = re * s + im * c;
}

void radix2(const Place at) {
  for (std::size_t i = 0; i < at.count; ++i) {
    const float ar = at.in_re[i], ai = at.in_im[i];
    const float br = at.in_re[at.in_step + i], bi = at.in_im[at.in_step + i];
    at.out_re[i] = ar + br;
    at.out_im[i] = ai + bi;
    store(at, 1, i, ar - br, ai - bi);
  }
}

void radix3(const Place at) {
  const float half_root = 0.866025403784438647f;
  for (std::size_t i = 0; i < at.count; ++i) {
    const float ar = at.in_re[i], ai = at.in_im[i];
    const float br = at.in_re[at.in_step + i], bi = at.in_im[at.in_step + i];
    const float cr = at.in_re[2 * at.in_step + i], ci = at.in_im[2 * at.in_step + i];
    const float sr = br + cr, si = bi + ci;
    const float dr = half_root * (bi - ci), di = -half_root * (br - cr);
    const float mr = ar - 0.5f * sr, mi = ai - 0.5f * si;
    at.out_re[i] = ar + sr;
    at.out_im[i] = ai + si;
    store(at, 1, i, mr + dr, mi + di);
    store(at, 2, i, mr - dr, mi - di);
  }
}

void radix4(const Place at) {
  for (std::size_t i = 0; i < at.count; ++i) {
    const float ar = at.in_re[i], ai = at.in_im[i];
    const float br = at.in_re[at.in_step + i], bi = at.in_im[at.in_step + i];
    const float cr = at.in_re[2 * at.in_step + i], ci = at.in_im[2 * at.in_step + i];
    const float dr = at.in_re[3 * at.in_step + i], di = at.in_im[3 * at.in_step + i];
    const float er = ar + cr, ei = ai + ci, fr = ar - cr, fi = ai - ci;
    const float gr = br + dr, gi = bi + di, hr = bi - di, hi = dr - br;
    at.out_re[i] = er + gr;
    at.out_im[i] = ei + gi;
    store(at, 1, i, fr + hr, fi + hi);
    store(at, 2, i, er - gr, ei - gi);
    store(at, 3, i, fr - hr, fi - hi);
  }
}

void radix5(const Place at) {
  const float c1 = 0.309016994374947424f, c2 = -0.809016994374947424f;
  const float s1 = 0.951056516295153572f, s2 = 0.587785252292473129f;
  for (std::size_t i = 0; i < at.count; ++i) {
    const auto re = [&](std::size_t t) { return at.in_re[t * at.in_step + i]; };
    const auto im = [&](std::size_t t) { return at.in_im[t * at.in_step + i]; };
    const float ar = re(0), ai = im(0);
    const float br = re(1) + re(4), bi = im(1) + im(4), cr = re(1) - re(4), ci = im(1) - im(4);
    const float dr = re(2) + re(3), di = im(2) + im(3), er = re(2) - re(3), ei = im(2) - im(3);
    const float fr = ar + c1 * br + c2 * dr, fi = ai + c1 * bi + c2 * di;
    const float gr = ar + c2 * br + c1 * dr, gi = ai + c2 * bi + c1 * di;
    const float hr = s1 * ci + s2 * ei, hi = -(s1 * cr + s2 * er);
    const float kr = s2 * ci - s1 * ei, ki = -(s2 * cr - s1 * er);
    at.out_re[i] = ar + br + dr;
    at.out_im[i] = ai + bi + di;
    store(at, 1, i, fr + hr, fi + hi);
    store(at, 2, i, gr + kr, gi + ki);
    store(at, 3, i, gr - kr, gi - ki);
    store(at, 4, i, fr - hr, fi - hi);
  }
}

// Any other factor, from the definition; `roots` has cos and sin of its parts of a circle.
void radix_any(const Place at, std::size_t radix, const double* roots) {
  for (std::size_t u = 0; u < radix; ++u) {
    for (std::size_t i = 0; i < at.count; ++i) {
      double re = at.in_re[i], im = at.in_im[i];
      for (std::size_t t = 1; t < radix; ++t) {
        const double* const root = roots + 2 * (t * u % radix);
        const double r = at.in_re[t * at.in_step + i], j = at.in_im[t * at.in_step + i];
        re += r * root[0] - j * root[1];
        im += r * root[1] + j * root[0];
      }
      if (u == 0) {
        at.out_re[i] = float(re), at.out_im[i] = float(im);
      } else {
        store(at, u, i, float(re), float(im));
      }
    }
  }
}

}  // namespace

RealFft::RealFft(std::size_t length)
    : length_(length), half_(length % 2 == 0 ? length / 2 : length) {
  std::size_t left = half_, stride = 1;
  for (const std::size_t radix : factors_of(half_)) {
    Pass pass{radix, stride, left / radix, {}, {}};
    pass.turns.reserve(2 * (radix - 1) * pass.rest);
    for (std::size_t k = 0; k < pass.rest; ++k) {
      for (std::size_t u = 1; u < radix; ++u) {
        pass.turns.push_back(float(std::cos(angle(k * u, left))));
        pass.turns.push_back(float(std::sin(angle(k * u, left))));
      }
    }
    for (std::size_t t = 0; t < radix; ++t) {
      pass.roots.push_back(std::cos(angle(t, radix)));
      pass.roots.push_back(std::sin(angle(t, radix)));
    }
    passes_.push_back(std::move(pass));
    left /= radix, stride *= radix;
  }
  if (length_ % 2 != 0) return;
  for (std::size_t k = 0; k <= half_; ++k) {
    cos_.push_back(float(std::cos(angle(k, length_))));
    sin_.push_back(float(std::sin(angle(k, length_))));
  }
}

void RealFft::pass(const Pass& pass, const float* in_re, const float* in_im, float* out_re,
                   float* out_im) {
  const std::size_t count = pass.stride * kLanes;
  for (std::size_t k = 0; k < pass.rest; ++k) {
    const Place at{in_re + k * count,
                   in_im + k * count,
                   pass.rest * count,
                   out_re + k * pass.radix * count,
                   out_im + k * pass.radix * count,
                   count,
                   pass.turns.data() + 2 * (pass.radix - 1) * k,
                   count};
    if (pass.radix == 4) {
      radix4(at);
    } else if (pass.radix == 2) {
      radix2(at);
    } else if (pass.radix == 3) {
      radix3(at);
    } else if (pass.radix == 5) {
      radix5(at);
    } else {
      radix_any(at, pass.radix, pass.roots.data());
    }
  }
}

void RealFft::run(const float* in, float* re, float* im, float* work) const {
  const std::size_t points = half_ * kLanes;
  float *from_re = work, *from_im = work + points, *to_re = work + 2 * points,
        *to_im = work + 3 * points;
  const bool even = length_ % 2 == 0;
  for (std::size_t k = 0; k < half_; ++k) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      from_re[k * kLanes + l] = in[(even ? 2 * k : k) * kLanes + l];
      from_im[k * kLanes + l] = even ? in[(2 * k + 1) * kLanes + l] : 0.0f;
    }
  }
  for (const Pass& one : passes_) {
    pass(one, from_re, from_im, to_re, to_im);
    std::swap(from_re, to_re), std::swap(from_im, to_im);
  }
  // Two real signals, the even and the odd values, were taken for one complex one.
  for (std::size_t k = 0; k < bins(); ++k) {
    const std::size_t a = (even ? k % half_ : k) * kLanes;
    const std::size_t b = (half_ - k) % half_ * kLanes;
    for (std::size_t l = 0; l < kLanes; ++l) {
      const float ar = from_re[a + l], ai = from_im[a + l];
      if (!even) {
        re[k * kLanes + l] = ar, im[k * kLanes + l] = ai;
        continue;
      }
      const float br = from_re[b + l], bi = from_im[b + l];
      const float even_re = 0.5f * (ar + br), even_im = 0.5f * (ai - bi);
      const float odd_re = 0.5f * (ai + bi), odd_im = 0.5f * (br - ar);
      re[k * kLanes + l] = even_re + odd_re * cos_[k] - odd_im * sin_[k];
      im[k * kLanes + l] = even_im + odd_re * sin_[k] + odd_im * cos_[k];
    }
  }
}

}  // namespace penstock
