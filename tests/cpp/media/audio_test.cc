// WAV files by our own reader and writer; no FFmpeg is needed.
#include "penstock/audio.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace penstock {
namespace {

Tensor ramp(std::int64_t channels, std::int64_t samples) {
  Result<Tensor> made = Tensor::empty(DType::float32, {channels, samples});
  EXPECT_TRUE(made);
  for (std::int64_t i = 0; i < channels * samples; ++i) {
    made->data<float>()[i] = float(i % 2001 - 1000) / 1024.0f;
  }
  return *made;
}

TEST(Wav, what_is_written_is_read_again_in_every_coding) {
  const Tensor sound = ramp(2, 500);
  const std::vector<std::pair<SampleCoding, double>> codings = {{SampleCoding::int16, 0x1p-15},
                                                                {SampleCoding::int24, 0x1p-23},
                                                                {SampleCoding::int32, 0x1p-23},
                                                                {SampleCoding::float32, 0}};
  for (const auto& [coding, step] : codings) {
    const auto file = encode_audio(sound, 8000, {.coding = coding});
    ASSERT_TRUE(file);
    const Result<Audio> back = load_audio(*file);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->sample_rate, 8000);
    ASSERT_EQ(back->samples.shape(), sound.shape());
    for (int i = 0; i < 1000; ++i) {
      EXPECT_NEAR(back->samples.data<float>()[i], sound.data<float>()[i], step) << i;
    }
  }
}

TEST(Wav, a_part_is_the_whole_cut_at_the_same_place) {
  const auto file = encode_audio(ramp(3, 4000), 8000, {.coding = SampleCoding::float32});
  ASSERT_TRUE(file);
  const Result<Audio> whole = load_audio(*file);
  const Result<Audio> part = load_audio(*file, {.start = 0.1, .duration = 0.2, .select = {2}});
  ASSERT_TRUE(whole && part);
  ASSERT_EQ(part->samples.shape(), (Dims{1, 1600}));
  for (std::int64_t i = 0; i < 1600; ++i) {
    EXPECT_EQ(part->samples.data<float>()[i], whole->samples.data<float>()[2 * 4000 + 800 + i]);
  }
  EXPECT_EQ(load_audio(*file, {.start = 1}).error().code(), Code::out_of_range);
  EXPECT_EQ(load_audio(*file, {.select = {3}}).error().code(), Code::out_of_range);
}

TEST(Wav, a_file_that_was_cut_off_is_an_error_or_a_part) {
  auto file = encode_audio(ramp(1, 4000), 8000);
  ASSERT_TRUE(file);
  file->resize(1044);
  const Result<Audio> strict = load_audio(*file);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().code(), Code::corrupt);
  const Result<Audio> part = load_audio(*file, {.partial = true});
  ASSERT_TRUE(part);
  EXPECT_EQ(part->samples.shape(), (Dims{1, 500}));
  EXPECT_TRUE(part->failure.has_value());
  const Result<AudioInfo> info = audio_info(*file);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->codec, "pcm_s16le");
  EXPECT_EQ(info->duration, 0.5);
}

TEST(Wav, what_cannot_be_written_is_refused) {
  const Tensor sound = ramp(2, 10);
  EXPECT_FALSE(encode_audio(sound, 0));
  EXPECT_FALSE(encode_audio(sound, 8000, {AudioFormat::flac, SampleCoding::int32}));
  EXPECT_FALSE(encode_audio(ramp(65, 4), 8000));
  EXPECT_EQ(save_audio("/nowhere/at/all.wav", sound, 8000).error().code(), Code::not_found);
}

}  // namespace
}  // namespace penstock
