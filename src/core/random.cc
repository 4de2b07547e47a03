// Draws that need floating-point arithmetic. Only operations that IEEE 754 fixes to the last bit
// are used (no libm but sqrt, no fused multiply-add: see CMakeLists.txt), so that every machine
// computes the same numbers.
#include "penstock/random.h"

#include <bit>
#include <cmath>

namespace penstock {
namespace {

__extension__ using uint128 = unsigned __int128;

// The natural logarithm of a normal number in (0, 1), to about 1e-15.
double log_of(double x) noexcept {
  // x = m * 2^e with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s), s = (m - 1) / (m + 1).
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    exponent += 1;
  }
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;
  double sum = 0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * s2 + 1.0 / k;  // s2 < 0.03: twelve terms are ample
  return exponent * 0.6931471805599453 + 2 * s * sum;
}

template <int size>
double polynomial(const double (&coefficients)[size], double x) noexcept {
  double sum = coefficients[size - 1];
  for (int i = size - 2; i >= 0; --i) sum = sum * x + coefficients[i];
  return sum;
}

// The inverse of the normal distribution function: algorithm AS 241 (Wichura 1988), about 1e-16.
double normal_quantile(double p) noexcept {
  static constexpr double a[] = {3.3871328727963666080e0, 1.3314166789178437745e2,
                                 1.9715909503065514427e3, 1.3731693765509461125e4,
                                 4.5921953931549871457e4, 6.7265770927008700853e4,
                                 3.3430575583588128105e4, 2.5090809287301226727e3};
  static constexpr double b[] = {1.0,
                                 4.2313330701600911252e1,
                                 6.8718700749205790830e2,
                                 5.3941960214247511077e3,
                                 2.1213794301586595867e4,
                                 3.9307895800092710610e4,
                                 2.8729085735721942674e4,
                                 5.2264952788528545610e3};
  static constexpr double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                 5.76949722146069140550e0,  3.64784832476320460504e0,
                                 1.27045825245236838258e0,  2.41780725177450611770e-1,
                                 2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr double d[] = {1.0,
                                 2.05319162663775882187e0,
                                 1.67638483018380384940e0,
                                 6.89767334985100004550e-1,
                                 1.48103976427480074590e-1,
                                 1.51986665636164571966e-2,
                                 5.47593808499534494600e-4,
                                 1.05075007164441684324e-9};
  static constexpr double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                 1.78482653991729133580e0,  2.96560571828504891230e-1,
                                 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                 2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr double f[] = {1.0,
                                 5.99832206555887937690e-1,
                                 1.36929880922735805310e-1,
                                 1.48753612908506148525e-2,
                                 7.86869131145613259100e-4,
                                 1.84631831751005468180e-5,
                                 1.42151175831644588870e-7,
                                 2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(a, r) / polynomial(b, r);
  }
  const double r = std::sqrt(-log_of(q < 0 ? p : 1 - p));
  const double x = r <= 5 ? polynomial(c, r - 1.6) / polynomial(d, r - 1.6)
                          : polynomial(e, r - 5) / polynomial(f, r - 5);
  return q < 0 ? -x : x;
}

}  // namespace

double RandomStream::uniform(double a, double b) noexcept {
  return a + (b - a) * uniform();
}

std::uint64_t RandomStream::below(std::uint64_t n) noexcept {
  // Lemire's method: the high half of a product, redrawn in the rare cases that would be uneven.
  uint128 product = uint128{bits64()} * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t uneven = (0 - n) % n;
    while (static_cast<std::uint64_t>(product) < uneven) product = uint128{bits64()} * n;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double RandomStream::normal() noexcept {
  // The middle of one of 2^52 equal intervals: never 0 or 1.
  const double p = (static_cast<double>(bits64() >> 12) + 0.5) * 0x1p-52;
  return normal_quantile(p);
}

}  // namespace penstock
