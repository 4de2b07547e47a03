#include "transform/spectrogram.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "transform/scratch.h"

namespace penstock {
namespace {

constexpr std::int64_t kLanes = std::int64_t(RealFft::kLanes);

// Number `at` of a signal that goes on before and after its ends.
float value_at(const float* signal, std::int64_t samples, std::int64_t at, SoundPad pad) {
  if (at >= 0 && at < samples) return signal[at];
  if (pad == SoundPad::constant) return 0.0f;
  if (samples == 1) return signal[0];
  const std::int64_t period = 2 * (samples - 1);
  const std::int64_t inside = ((at % period) + period) % period;
  return signal[inside < samples ? inside : period - inside];
}

}  // namespace

Status check(const StftSpec& spec) {
  const auto bad = [](const char* text) { return Error(Code::invalid_argument, text); };
  if (spec.n_fft < 1 || spec.n_fft > 1 << 22) return bad("n_fft must be 1 to 4194304");
  if (spec.hop < 1) return bad("hop_length must be 1 or more");
  if (spec.window_length < 1 || spec.window_length > spec.n_fft) {
    return bad("win_length must be 1 to n_fft");
  }
  return {};
}

Status check(const DecibelSpec& spec) {
  if (!(spec.least > 0)) return Error(Code::invalid_argument, "amin must be more than 0");
  if (!(std::abs(spec.reference) >= 0)) return Error(Code::invalid_argument, "ref is no number");
  if (spec.range && !(*spec.range >= 0)) {
    return Error(Code::invalid_argument, "top_db must be 0 or more");
  }
  return {};
}

Spectrogram::Spectrogram(const StftSpec& stft, BinValue value, std::optional<MelSpec> mel,
                         std::optional<DecibelSpec> decibel)
    : stft_(stft),
      value_(value),
      fft_(std::size_t(stft.n_fft)),
      window_(std::size_t(stft.n_fft), 0.0),
      decibel_(decibel) {
  const double lift = stft.window == SoundWindow::hann      ? 0.5
                      : stft.window == SoundWindow::hamming ? 0.54
                                                            : 1.0;
  const std::int64_t before = (stft.n_fft - stft.window_length) / 2;
  for (std::int64_t i = 0; i < stft.window_length; ++i) {
    const double turn = 2.0 * std::numbers::pi * double(i) / double(stft.window_length);
    window_[std::size_t(before + i)] = lift - (1.0 - lift) * std::cos(turn);
  }
  if (stft.window_length == 1) window_[std::size_t(before)] = 1.0;  // its middle, as SciPy has it
  if (!mel) return;
  const std::vector<float> filters = mel_filters(*mel, stft.n_fft);
  const std::int64_t bins = std::int64_t(fft_.bins());
  for (std::int64_t m = 0; m < mel->mels; ++m) {
    const float* const row = filters.data() + m * bins;
    std::int64_t first = 0, end = bins;
    while (first < end && row[first] == 0) ++first;
    while (end > first && row[end - 1] == 0) --end;
    bands_.push_back({first, {row + first, row + end}});
  }
}

std::int64_t Spectrogram::rows() const noexcept {
  return bands_.empty() ? std::int64_t(fft_.bins()) : std::int64_t(bands_.size());
}

Result<std::int64_t> Spectrogram::frames(std::int64_t samples) const {
  const std::int64_t pad = stft_.centre ? stft_.n_fft / 2 : 0;
  if (samples + 2 * pad < stft_.n_fft || samples < 1) {
    return Error(Code::invalid_argument,
                 "the sound has " + std::to_string(samples) +
                     " samples, fewer than n_fft: " + std::to_string(stft_.n_fft));
  }
  return 1 + (samples + 2 * pad - stft_.n_fft) / stft_.hop;
}

// Frames side by side, windowed, as the transform wants them; lanes without a frame are silent.
void Spectrogram::gather(const float* signal, std::int64_t samples, std::int64_t frame,
                         std::int64_t count, double* into) const {
  const std::int64_t first = frame * stft_.hop - (stft_.centre ? stft_.n_fft / 2 : 0);
  const std::int64_t last = first + (count - 1) * stft_.hop;
  const bool inside = count == kLanes && first >= 0 && last + stft_.n_fft <= samples;
  for (std::int64_t i = 0; i < stft_.n_fft; ++i) {
    double* const to = into + fft_.place_of(std::size_t(i));
    const double window = window_[std::size_t(i)];
    if (inside) {
      const float* const from = signal + first + i;
      for (std::int64_t l = 0; l < kLanes; ++l) to[l] = double(from[l * stft_.hop]) * window;
    } else {
      std::fill_n(to, kLanes, 0.0);
      for (std::int64_t l = 0; l < count; ++l) {
        to[l] = double(value_at(signal, samples, first + l * stft_.hop + i, stft_.pad)) * window;
      }
    }
  }
}

void Spectrogram::run(const float* signal, std::int64_t samples, std::int64_t frames,
                      float* out) const {
  constexpr std::size_t lanes = RealFft::kLanes;
  const std::size_t bins = fft_.bins(), all = bins * lanes;
  Scratch<double> memory;
  double* const re = memory.reserve(2 * all + fft_.work_size());
  double *const im = re + all, *const work = im + all;
  for (std::int64_t frame = 0; frame < frames; frame += kLanes) {
    const std::int64_t count = std::min(kLanes, frames - frame);
    gather(signal, samples, frame, count, work);
    fft_.run(work, re, im);
    if (value_ == BinValue::complex) {
      for (std::size_t k = 0; k < bins; ++k) {
        float* const to = out + 2 * (std::int64_t(k) * frames + frame);
        for (std::int64_t l = 0; l < count; ++l) {
          to[2 * l] = float(re[k * lanes + std::size_t(l)]);
          to[2 * l + 1] = float(im[k * lanes + std::size_t(l)]);
        }
      }
      continue;
    }
    for (std::size_t i = 0; i < all; ++i) re[i] = re[i] * re[i] + im[i] * im[i];
    if (value_ == BinValue::magnitude) {
      for (std::size_t i = 0; i < all; ++i) re[i] = std::sqrt(re[i]);
    }
    const auto put = [&](std::size_t row, const double* from) {
      float* const to = out + std::int64_t(row) * frames + frame;
      for (std::int64_t l = 0; l < count; ++l) to[l] = float(from[l]);
    };
    if (bands_.empty()) {
      for (std::size_t k = 0; k < bins; ++k) put(k, re + k * lanes);
      continue;
    }
    for (std::size_t m = 0; m < bands_.size(); ++m) {
      double sum[lanes] = {};
      const double* from = re + std::size_t(bands_[m].first) * lanes;
      for (const double weight : bands_[m].weights) {
        for (std::size_t l = 0; l < lanes; ++l) sum[l] += weight * from[l];
        from += lanes;
      }
      put(m, sum);
    }
  }
  if (decibel_) decibels(out, rows() * frames);
}

void Spectrogram::decibels(float* values, std::int64_t count) const {
  const float least = float(decibel_->least);
  const float shift =
      float(10.0 * std::log10(std::max(decibel_->least, std::abs(decibel_->reference))));
  float highest = -INFINITY;
  for (std::int64_t i = 0; i < count; ++i) {
    values[i] = 10.0f * std::log10(std::max(least, values[i])) - shift;
    highest = std::max(highest, values[i]);
  }
  if (!decibel_->range) return;
  const float lowest = highest - float(*decibel_->range);
  for (std::int64_t i = 0; i < count; ++i) values[i] = std::max(values[i], lowest);
}

}  // namespace penstock
