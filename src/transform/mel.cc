// The mel scale and its filter bank.
#include <algorithm>
#include <cmath>

#include "transform/spectrogram.h"

namespace penstock {
namespace {

// Slaney's scale: linear up to 1 kHz, then logarithmic.
constexpr double kLinear = 200.0 / 3.0, kBreak = 1000.0;
const double kStep = std::log(6.4) / 27.0;

double to_mel(double hertz, bool htk) {
  if (htk) return 2595.0 * std::log10(1.0 + hertz / 700.0);
  if (hertz < kBreak) return hertz / kLinear;
  return kBreak / kLinear + std::log(hertz / kBreak) / kStep;
}

double to_hertz(double mel, bool htk) {
  if (htk) return 700.0 * (std::pow(10.0, mel / 2595.0) - 1.0);
  if (mel < kBreak / kLinear) return mel * kLinear;
  return kBreak * std::exp(kStep * (mel - kBreak / kLinear));
}

}  // namespace

Status check(const MelSpec& spec) {
  const auto bad = [](const char* text) { return Error(Code::invalid_argument, text); };
  if (!(spec.sample_rate > 0) || spec.sample_rate > 1e9) return bad("sample_rate must be positive");
  if (spec.mels < 1 || spec.mels > 65536) return bad("n_mels must be 1 to 65536");
  if (!(spec.low >= 0) || !(spec.high > spec.low)) return bad("fmax must be more than fmin");
  return {};
}

std::vector<float> mel_filters(const MelSpec& spec, std::int64_t n_fft) {
  const std::int64_t bins = n_fft / 2 + 1;
  const double low = to_mel(spec.low, spec.htk), high = to_mel(spec.high, spec.htk);
  std::vector<double> edges;
  for (std::int64_t i = 0; i < spec.mels + 2; ++i) {
    edges.push_back(to_hertz(low + (high - low) * double(i) / double(spec.mels + 1), spec.htk));
  }
  std::vector<float> filters(std::size_t(spec.mels * bins), 0.0f);
  for (std::int64_t m = 0; m < spec.mels; ++m) {
    const double left = edges[std::size_t(m)], middle = edges[std::size_t(m + 1)],
                 right = edges[std::size_t(m + 2)];
    const double area = spec.slaney_norm ? 2.0 / (right - left) : 1.0;
    for (std::int64_t k = 0; k < bins; ++k) {
      const double at = double(k) * spec.sample_rate / double(n_fft);
      const double up = (at - left) / (middle - left), down = (right - at) / (right - middle);
      const double height = std::max(0.0, std::min(up, down));
      filters[std::size_t(m * bins + k)] = float(float(height) * area);
    }
  }
  return filters;
}

}  // namespace penstock
