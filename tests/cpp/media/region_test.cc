// A part of a picture equals the same part of the whole, however little is decoded.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "images.h"

namespace penstock {
namespace {

using test::image_file;
using test::Pixels;

std::int64_t draw(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return low + std::int64_t(random() % std::uint64_t(high - low + 1));
}

Rect draw_rect(std::mt19937& random, std::int64_t width, std::int64_t height) {
  Rect r;
  r.x = draw(random, 0, width - 1), r.y = draw(random, 0, height - 1);
  r.width = draw(random, 1, width - r.x), r.height = draw(random, 1, height - r.y);
  return r;
}

void expect_part(const Pixels& whole, const Pixels& part, Rect r, const std::string& name) {
  ASSERT_EQ(part.shape.width, r.width);
  ASSERT_EQ(part.shape.height, r.height);
  const std::size_t pixel = std::size_t(whole.shape.channels) * std::size_t(whole.shape.bits / 8);
  for (std::int64_t y = 0; y < r.height; ++y) {
    const auto* expected =
        whole.bytes.data() + (r.y + y) * whole.shape.row_bytes() + r.x * std::int64_t(pixel);
    ASSERT_EQ(std::memcmp(part.bytes.data() + y * part.shape.row_bytes(), expected,
                          std::size_t(part.shape.row_bytes())),
              0)
        << name << " " << r.x << "," << r.y << " " << r.width << " x " << r.height << " row " << y;
  }
}

TEST(Region, equals_the_same_part_of_the_whole_for_every_kind_of_jpeg) {
  std::mt19937 random(1);
  for (const char* name :
       {"420.jpg", "444.jpg", "422.jpg", "440.jpg", "411.jpg", "410.jpg", "restart.jpg",
        "progressive.jpg", "progressive444.jpg", "grey.jpg", "cmyk.jpg", "size66x9.jpg"}) {
    const auto file = image_file(name);
    Pixels whole;
    ASSERT_TRUE(decode_image(file, {}, whole).ok());
    for (int i = 0; i < 150; ++i) {
      const Rect r = draw_rect(random, whole.shape.width, whole.shape.height);
      Pixels part;
      auto shape = decode_image_region(file, r, {}, part);
      ASSERT_TRUE(shape.ok()) << shape.error().to_string();
      expect_part(whole, part, r, name);
    }
  }
}

TEST(Region, is_in_upright_pixels_when_orientation_is_applied) {
  std::mt19937 random(2);
  DecodeOptions upright;
  upright.apply_orientation = true;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const std::string name = "orientation" + std::to_string(orientation) + ".jpg";
    const auto file = image_file(name);
    Pixels whole;
    ASSERT_TRUE(decode_image(file, upright, whole).ok());
    EXPECT_EQ(whole.shape.width, orientation > 4 ? 43 : 61);
    for (int i = 0; i < 20; ++i) {
      const Rect r = draw_rect(random, whole.shape.width, whole.shape.height);
      Pixels part;
      ASSERT_TRUE(decode_image_region(file, r, upright, part).ok());
      expect_part(whole, part, r, name);
    }
  }
}

TEST(Region, works_for_formats_that_are_decoded_whole) {
  std::mt19937 random(3);
  for (const char* name : {"photo.png", "type2-16.png", "lossy.webp", "orientation6.tif"}) {
    for (const PixelMode mode : {PixelMode::rgb, PixelMode::unchanged}) {
      const auto file = image_file(name);
      Pixels whole, part;
      ASSERT_TRUE(decode_image(file, test::in_mode(mode), whole).ok());
      const Rect r = draw_rect(random, whole.shape.width, whole.shape.height);
      ASSERT_TRUE(decode_image_region(file, r, test::in_mode(mode), part).ok());
      expect_part(whole, part, r, name);
    }
  }
}

TEST(Region, outside_the_picture_is_refused) {
  const auto file = image_file("420.jpg");  // 301 x 203
  for (const Rect r : {Rect{0, 0, 302, 1}, Rect{301, 0, 1, 1}, Rect{-1, 0, 5, 5}, Rect{0, 0, 0, 5},
                       Rect{0, 203, 1, 1}, Rect{INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}}) {
    Pixels part;
    auto shape = decode_image_region(file, r, {}, part);
    ASSERT_FALSE(shape.ok());
    EXPECT_EQ(shape.error().code(), Code::invalid_argument);
  }
}

}  // namespace
}  // namespace penstock
