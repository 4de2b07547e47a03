// Short-time Fourier transforms and mel spectrograms, as librosa (0.10, 0.11) defines them.
//
// A signal is cut into frames of n_fft samples, hop apart; each is multiplied by the window, which
// stands in the middle of the frame, and transformed. With `centre`, frame t is centred at sample
// t * hop, and n_fft / 2 samples are put before and after the signal. All is computed in double
// precision; results are float32.
//
// Thread safety: a Spectrogram never changes once made; any number of threads may use one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "penstock/error.h"
#include "transform/fft.h"

namespace penstock {

enum class SoundWindow : std::uint8_t { hann, hamming, ones };  // periodic
enum class SoundPad : std::uint8_t { constant, reflect };       // zeros; mirrored around the ends

struct StftSpec {
  std::int64_t n_fft = 2048;
  std::int64_t hop = 512;
  std::int64_t window_length = 2048;  // at most n_fft
  SoundWindow window = SoundWindow::hann;
  bool centre = true;
  SoundPad pad = SoundPad::constant;
};

struct MelSpec {
  double sample_rate = 0;
  std::int64_t mels = 128;
  double low = 0, high = 0;  // Hz
  bool htk = false;          // HTK's scale; else Slaney's
  bool slaney_norm = true;   // filters of equal area; else of equal height
};

// 10 log10(max(least, x) / max(least, reference)), and nothing lower than `range` under the
// highest.
struct DecibelSpec {
  double reference = 1.0;
  double least = 1e-10;
  std::optional<double> range = 80.0;
};

Status check(const StftSpec& spec);
Status check(const MelSpec& spec);
Status check(const DecibelSpec& spec);

// The triangles of a mel filter bank over bins of a transform: mels x (n_fft / 2 + 1), row by row.
std::vector<float> mel_filters(const MelSpec& spec, std::int64_t n_fft);

// What is kept of each bin.
enum class BinValue : std::uint8_t {
  complex,    // two numbers: real and imaginary part
  magnitude,  // |z|
  power,      // |z| squared
};

class Spectrogram {
 public:
  // The specs have passed check().
  Spectrogram(const StftSpec& stft, BinValue value, std::optional<MelSpec> mel,
              std::optional<DecibelSpec> decibel);

  std::int64_t rows() const noexcept;  // bins, or mels
  std::int64_t values() const noexcept { return value_ == BinValue::complex ? 2 : 1; }
  // Frames of a signal. Error: it is too short.
  Result<std::int64_t> frames(std::int64_t samples) const;
  // `out` gets rows x frames x values.
  void run(const float* signal, std::int64_t samples, std::int64_t frames, float* out) const;

 private:
  struct Band {
    std::int64_t first = 0;  // bin
    std::vector<double> weights;
  };
  void gather(const float* signal, std::int64_t samples, std::int64_t frame, std::int64_t count,
              double* into) const;
  void decibels(float* values, std::int64_t count) const;

  StftSpec stft_;
  BinValue value_;
  RealFft fft_;
  std::vector<double> window_;  // n_fft values
  std::vector<Band> bands_;
  std::optional<DecibelSpec> decibel_;
};

}  // namespace penstock
