// Transforms of sound against their definitions in double precision.
#include "transform/spectrogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "transform/sound_op.h"

namespace penstock {
namespace {

std::vector<float> noise(std::size_t count) {
  RandomStream random(RandomKey(1, 0), 0);
  std::vector<float> values(count);
  for (float& value : values) value = float(random.uniform(-1, 1));
  return values;
}

TEST(RealFft, every_length_is_the_sum_it_stands_for) {
  constexpr std::size_t lanes = RealFft::kLanes;
  for (std::size_t n = 1; n <= 130; ++n) {
    const RealFft fft(n);
    const std::vector<float> in = noise(n * lanes);
    std::vector<double> re(fft.bins() * lanes), im(re.size()), work(fft.work_size());
    for (std::size_t i = 0; i < in.size(); ++i) work[fft.place_of(i / lanes) + i % lanes] = in[i];
    fft.run(work.data(), re.data(), im.data());
    for (std::size_t k = 0; k < fft.bins(); ++k) {
      for (const std::size_t lane : {std::size_t(0), lanes - 1}) {
        std::complex<double> sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
          const double turn = -2 * std::numbers::pi * double(i * k % n) / double(n);
          sum += double(in[i * lanes + lane]) * std::polar(1.0, turn);
        }
        EXPECT_NEAR(re[k * lanes + lane], sum.real(), 1e-12) << n << " " << k;
        EXPECT_NEAR(im[k * lanes + lane], sum.imag(), 1e-12) << n << " " << k;
      }
    }
  }
}

TEST(Spectrogram, a_tone_is_highest_in_its_own_band) {
  StftSpec stft{512, 128, 512};
  const MelSpec mel{16000, 40, 0, 8000};
  ASSERT_TRUE(check(stft).ok() && check(mel).ok());
  const Spectrogram made(stft, BinValue::power, mel, DecibelSpec{});
  std::vector<float> tone(16000);
  for (std::size_t i = 0; i < tone.size(); ++i) {
    tone[i] = float(std::sin(2 * std::numbers::pi * 1000 * double(i) / 16000));
  }
  const Result<std::int64_t> frames = made.frames(16000);
  ASSERT_TRUE(frames);
  EXPECT_EQ(*frames, 126);
  std::vector<float> out(std::size_t(40 * *frames));
  made.run(tone.data(), 16000, *frames, out.data());
  const std::vector<float> filters = mel_filters(mel, 512);
  std::int64_t best = 0;
  for (std::int64_t m = 0; m < 40; ++m) {
    if (out[std::size_t(m * *frames + 60)] > out[std::size_t(best * *frames + 60)]) best = m;
  }
  EXPECT_GT(filters[std::size_t(best * 257 + 32)], 0);  // bin 32 is 1000 Hz
}

TEST(SoundOp, sounds_that_are_too_short_are_refused) {
  const Result<SoundOp> op = stft_op({400, 160, 400, SoundWindow::hann, false}, BinValue::complex);
  ASSERT_TRUE(op);
  EXPECT_FALSE(op->result(399));
  EXPECT_EQ(*op->result(400), (Dims{201, 1, 2}));
  EXPECT_FALSE(stft_op({400, 0, 400}, BinValue::power));
  EXPECT_FALSE(gain_op(NAN));
}

}  // namespace
}  // namespace penstock
