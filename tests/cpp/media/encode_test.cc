// What is written can be read, and says no to what a format cannot hold.
#include <gtest/gtest.h>

#include <cmath>

#include "images.h"

namespace penstock {
namespace {

using test::image_file;
using test::Pixels;

Pixels photo(PixelMode mode) {
  Pixels pixels;
  EXPECT_TRUE(decode_image(image_file("alpha.webp"), test::in_mode(mode), pixels).ok());
  return pixels;
}

TEST(Encode, png_and_lossless_webp_come_back_as_they_were) {
  for (const PixelMode mode : {PixelMode::rgb, PixelMode::rgba, PixelMode::l}) {
    const Pixels before = photo(mode);
    for (const ImageFormat format : {ImageFormat::png, ImageFormat::webp}) {
      for (const int level : {0, 1, 6, 12}) {
        EncodeOptions options;
        options.format = format, options.level = level, options.lossless = true;
        auto file = encode_image(before.view(), options);
        ASSERT_TRUE(file.ok()) << file.error().to_string();
        EXPECT_EQ(image_info(*file)->format, format);
        Pixels after;
        ASSERT_TRUE(decode_image(*file, test::in_mode(mode), after).ok());
        EXPECT_EQ(before.bytes, after.bytes);
        if (format == ImageFormat::webp) break;
      }
    }
  }
}

TEST(Encode, grey_with_alpha_fits_png) {
  Pixels before;
  ASSERT_TRUE(decode_image(image_file("LA.tif"), test::in_mode(PixelMode::unchanged), before).ok());
  ASSERT_EQ(before.shape.channels, 2);
  EncodeOptions options;
  options.format = ImageFormat::png;
  auto file = encode_image(before.view(), options);
  ASSERT_TRUE(file.ok());
  Pixels after;
  ASSERT_TRUE(decode_image(*file, test::in_mode(PixelMode::unchanged), after).ok());
  EXPECT_EQ(before.bytes, after.bytes);
}

TEST(Encode, jpeg_and_lossy_webp_come_near_and_quality_costs_bytes) {
  const Pixels before = photo(PixelMode::rgb);
  for (const ImageFormat format : {ImageFormat::jpeg, ImageFormat::webp}) {
    std::size_t last = 0;
    for (const int quality : {20, 60, 95}) {
      for (const bool progressive : {false, true}) {
        EncodeOptions options;
        options.format = format, options.quality = quality, options.progressive = progressive;
        options.subsampling = Subsampling::s444;
        auto file = encode_image(before.view(), options);
        ASSERT_TRUE(file.ok());
        Pixels after;
        ASSERT_TRUE(decode_image(*file, {}, after).ok());
        double sum = 0;
        for (std::size_t i = 0; i < after.bytes.size(); ++i) {
          sum += std::abs(double(after.bytes[i]) - double(before.bytes[i]));
        }
        EXPECT_LT(sum / double(after.bytes.size()), 15);
        if (!progressive) {
          EXPECT_GT(file->size(), last);
          last = file->size();
        }
      }
    }
  }
}

TEST(Encode, rows_may_be_apart_or_upside_down) {
  const Pixels pixels = photo(PixelMode::rgb);
  ConstImageView view = pixels.view();
  const ConstImageView flipped{view.row(view.height - 1), view.height, view.width, 3,
                               -view.row_bytes};
  for (const ImageFormat format : {ImageFormat::png, ImageFormat::webp}) {
    EncodeOptions options;
    options.format = format, options.lossless = true;
    Pixels after;
    ASSERT_TRUE(decode_image(*encode_image(flipped, options), {}, after).ok());
    EXPECT_TRUE(
        std::equal(after.bytes.begin(), after.bytes.begin() + view.row_bytes, flipped.row(0)));
  }
}

TEST(Encode, refuses_what_a_format_cannot_hold) {
  const Pixels rgba = photo(PixelMode::rgba);
  EncodeOptions options;
  EXPECT_EQ(encode_image(rgba.view(), options).error().code(), Code::invalid_argument);
  options.format = ImageFormat::gif;
  EXPECT_EQ(encode_image(rgba.view(), options).error().code(), Code::unsupported);
  options.format = ImageFormat::png, options.level = 13;
  EXPECT_EQ(encode_image(rgba.view(), options).error().code(), Code::invalid_argument);
  options.format = ImageFormat::webp, options.quality = 0;
  EXPECT_EQ(encode_image(rgba.view(), options).error().code(), Code::invalid_argument);
  EXPECT_EQ(encode_image({}, {}).error().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace penstock
