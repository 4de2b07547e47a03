// The finishing pass: every layout and type holds the documented value, on every instruction set.
#include "transform/finish.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "pictures.h"
#include "transform/half.h"
#include "transform/resample.h"

namespace penstock {
namespace {

// Kept out of line so that the product and the sum are rounded apart here, too.
[[gnu::noinline]] float times(float a, float b) {
  return a * b;
}

void expect_finished(const FinishSpec& spec, const Picture& source,
                     const std::vector<std::uint8_t>& image) {
  for (std::int64_t y = 0; y < spec.height; ++y) {
    for (std::int64_t x = 0; x < spec.width; ++x) {
      for (int c = 0; c < spec.channels; ++c) {
        const std::int64_t from = spec.mirror ? spec.width - 1 - x : x;
        const std::uint8_t byte = source.view().row(y)[from * spec.channels + c];
        const auto channel = static_cast<std::size_t>(c);
        const float value = times(byte, spec.scale[channel]) + spec.bias[channel];
        const auto at = static_cast<std::size_t>(spec.layout == ImageLayout::hwc
                                                     ? (y * spec.width + x) * spec.channels + c
                                                     : (c * spec.height + y) * spec.width + x);
        if (spec.type == DType::uint8) {
          ASSERT_EQ(image[at], byte);
        } else if (spec.type == DType::float32) {
          float got;
          std::memcpy(&got, image.data() + at * 4, 4);
          ASSERT_EQ(got, value) << x << " " << y << " " << c;
        } else {
          std::uint16_t got;
          std::memcpy(&got, image.data() + at * 2, 2);
          ASSERT_EQ(got, to_half(value)) << x << " " << y << " " << c;
        }
      }
    }
  }
}

TEST(Finish, every_layout_type_and_width_holds_the_documented_value) {
  const std::array<double, 4> mean = {0.485, 0.456, 0.406, 0.5};
  const std::array<double, 4> std = {0.229, 0.224, 0.225, 0.25};
  for_each_target([&] {
    for (const std::int64_t width : {1, 5, 31, 32, 33, 64, 224, 1030}) {
      for (const int channels : {1, 2, 3, 4}) {
        const Picture source = picture(width, 3, channels);
        for (const ImageLayout layout : {ImageLayout::hwc, ImageLayout::chw}) {
          for (const DType type : {DType::uint8, DType::float32, DType::float16}) {
            for (const bool mirror : {false, true}) {
              FinishSpec spec{.height = 3, .width = width, .channels = channels};
              spec.layout = layout;
              spec.type = type;
              spec.mirror = mirror;
              const auto used = static_cast<std::size_t>(channels);
              ASSERT_TRUE(normalise(spec, {mean.data(), used}, {std.data(), used}).ok());
              ASSERT_TRUE(check(spec).ok());
              std::vector<std::uint8_t> image(spec.bytes());
              for (std::int64_t y = 0; y < 3; ++y)
                finish_row(spec, source.view().row(y), y, image.data());
              expect_finished(spec, source, image);
            }
          }
        }
      }
    }
  });
}

TEST(Finish, normalised_values_are_torchvisions) {
  FinishSpec spec{.height = 1, .width = 256, .channels = 1};
  spec.type = DType::float32;
  const double mean = 0.485, std = 0.229;
  ASSERT_TRUE(normalise(spec, {&mean, 1}, {&std, 1}).ok());
  std::vector<std::uint8_t> bytes(256);
  for (std::size_t i = 0; i < 256; ++i) bytes[i] = static_cast<std::uint8_t>(i);
  std::vector<float> values(256);
  finish_row(spec, bytes.data(), 0, values.data());
  for (std::size_t i = 0; i < 256; ++i)
    EXPECT_NEAR(values[i], (static_cast<double>(i) / 255 - mean) / std, 5e-7);
}

TEST(Finish, takes_rows_from_the_resampler) {
  const Picture source = picture(100, 90, 3);
  Picture resized(40, 30, 3);
  ASSERT_TRUE(resize(source.view(), source.whole(), resized.view(), Filter::bilinear).ok());
  for (const DType type : {DType::uint8, DType::float32}) {
    for (const ImageLayout layout : {ImageLayout::hwc, ImageLayout::chw}) {
      FinishSpec spec{.height = 30, .width = 40, .channels = 3};
      spec.layout = layout;
      spec.type = type;
      std::vector<std::uint8_t> image(spec.bytes());
      FinishSink sink(spec, image.data());
      ResizeSpec plan{.src_width = 100, .src_height = 90, .channels = 3};
      plan.box = plan.whole();
      plan.out_width = 40;
      plan.out_height = 30;
      Resampler resampler;
      ASSERT_TRUE(resampler.begin(plan, sink).ok());
      for (std::int64_t y = resampler.first_row(); y <= resampler.last_row(); ++y)
        resampler.push_row(source.view().row(y) + resampler.first_col() * 3);
      expect_finished(spec, resized, image);
    }
  }
}

TEST(Finish, errors_name_the_argument) {
  FinishSpec spec{.height = 4, .width = 4, .channels = 3};
  const auto says = [](const Status& status, const char* word) {
    return !status.ok() && status.error().message().find(word) != std::string::npos;
  };
  const double one[] = {1, 1}, zero[] = {0};
  EXPECT_TRUE(says(normalise(spec, {one, 2}, {one, 1}), "mean"));
  EXPECT_TRUE(says(normalise(spec, {one, 1}, {one, 2}), "std"));
  EXPECT_TRUE(says(normalise(spec, {one, 1}, {zero, 1}), "std"));
  spec.type = DType::int64;
  EXPECT_TRUE(says(check(spec), "type"));
  spec.type = DType::uint8;
  spec.width = 0;
  EXPECT_TRUE(says(check(spec), "width"));
}

TEST(Half, rounds_to_nearest_even_and_keeps_the_special_values) {
  EXPECT_EQ(to_half(0.0f), 0x0000);
  EXPECT_EQ(to_half(-0.0f), 0x8000);
  EXPECT_EQ(to_half(1.0f), 0x3c00);
  EXPECT_EQ(to_half(1.0f + 0x1p-11f), 0x3c00);      // halfway, to even
  EXPECT_EQ(to_half(1.0f + 3 * 0x1p-11f), 0x3c02);  // halfway, to even
  EXPECT_EQ(to_half(65504.0f), 0x7bff);             // the largest
  EXPECT_EQ(to_half(65520.0f), 0x7c00);             // rounds to infinity
  EXPECT_EQ(to_half(0x1p-24f), 0x0001);             // the smallest
  EXPECT_EQ(to_half(0x1p-25f), 0x0000);             // halfway to it, to even
  EXPECT_EQ(to_half(1.5f * 0x1p-25f), 0x0001);
  EXPECT_EQ(to_half(1e-30f), 0x0000);
  EXPECT_EQ(to_half(HUGE_VALF), 0x7c00);
  EXPECT_EQ(to_half(std::nanf("")) & 0x7e00, 0x7e00);
}

}  // namespace
}  // namespace penstock
