// Lossy WebP, whose last steps are ours, against the whole of libwebp.
#include <gtest/gtest.h>
#include <webp/decode.h>
#include <webp/encode.h>

#include <algorithm>
#include <memory>

#include "../targets.h"
#include "images.h"

namespace penstock {
namespace {

using test::Pixels;

struct Free {
  void operator()(void* memory) const { WebPFree(memory); }
};

// The upper left corner of a photograph; RGBA files have the photograph's green for alpha.
std::vector<std::byte> webp_of(const Pixels& photo, int width, int height, bool alpha) {
  std::vector<std::uint8_t> pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const std::uint8_t* p = photo.view().row(y) + 3 * x;
      pixels.insert(pixels.end(), p, p + 3);
      if (alpha) pixels.push_back(p[1]);
    }
  }
  std::uint8_t* file = nullptr;
  const std::size_t size = alpha
                               ? WebPEncodeRGBA(pixels.data(), width, height, width * 4, 90, &file)
                               : WebPEncodeRGB(pixels.data(), width, height, width * 3, 90, &file);
  const std::unique_ptr<std::uint8_t, Free> owner(file);
  const auto* bytes = reinterpret_cast<const std::byte*>(file);
  return {bytes, bytes + size};
}

std::vector<std::uint8_t> by_libwebp(const std::vector<std::byte>& file, PixelMode mode) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(file.data());
  const auto decode = mode == PixelMode::rgba  ? WebPDecodeRGBA
                      : mode == PixelMode::bgr ? WebPDecodeBGR
                                               : WebPDecodeRGB;
  int width = 0, height = 0;
  const std::unique_ptr<std::uint8_t, Free> pixels(decode(data, file.size(), &width, &height));
  if (!pixels) return {};
  return {pixels.get(), pixels.get() + width * height * channels_of(mode)};
}

Pixels photograph() {
  Pixels photo;
  EXPECT_TRUE(
      decode_image(test::image_file("photo.png"), test::in_mode(PixelMode::rgb), photo).ok());
  return photo;
}

void expect_libwebps_pixels(const std::vector<std::byte>& file, const std::string& what) {
  for (const PixelMode mode : {PixelMode::rgb, PixelMode::bgr, PixelMode::rgba}) {
    const std::vector<std::uint8_t> expected = by_libwebp(file, mode);
    ASSERT_FALSE(expected.empty()) << what;
    for_each_target([&] {
      Pixels pixels;
      const auto shape = decode_image(file, test::in_mode(mode), pixels);
      ASSERT_TRUE(shape.ok()) << what << ": " << shape.error().to_string();
      ASSERT_EQ(pixels.bytes, expected) << what << ", mode " << int(mode);
    });
  }
}

TEST(Webp, lossy_pictures_of_all_small_sizes_have_libwebps_pixels) {
  const Pixels photo = photograph();
  for (int height = 1; height <= 6; ++height) {
    for (int width = 1; width <= 70; ++width) {
      for (const bool alpha : {false, true}) {
        expect_libwebps_pixels(
            webp_of(photo, width, height, alpha),
            std::to_string(width) + " x " + std::to_string(height) + (alpha ? ", alpha" : ""));
      }
    }
  }
}

TEST(Webp, lossy_photographs_have_libwebps_pixels) {
  const Pixels photo = photograph();
  const int width = int(photo.shape.width), height = int(photo.shape.height);
  for (const bool alpha : {false, true}) {
    for (int less = 0; less < 2; ++less) {
      expect_libwebps_pixels(webp_of(photo, width - less, height, alpha), "photo.png");
      expect_libwebps_pixels(webp_of(photo, width, height - less, alpha), "photo.png");
    }
  }
  for (const char* name : {"lossy.webp", "alpha.webp", "lossless.webp"}) {
    expect_libwebps_pixels(test::image_file(name), name);
  }
}

// The colours at the ends of the scale, where the conversion is clipped.
TEST(Webp, loud_colours_have_libwebps_pixels) {
  Pixels loud;
  ASSERT_TRUE(loud.place({48, 75, 3, 8, false}).ok());
  std::uint32_t state = 1;
  for (std::uint8_t& byte : loud.bytes) {
    state = state * 1664525u + 1013904223u;
    byte = state >> 31 ? 255 : 0;
  }
  expect_libwebps_pixels(webp_of(loud, 75, 48, false), "loud");
  expect_libwebps_pixels(webp_of(loud, 74, 47, true), "loud");
}

TEST(Webp, rows_may_be_apart_and_nothing_is_written_between_them) {
  const std::vector<std::byte> file = test::image_file("lossy.webp");
  const std::vector<std::uint8_t> expected = by_libwebp(file, PixelMode::rgb);
  const auto info = image_info(file);
  ASSERT_TRUE(info.ok());
  const std::size_t row = std::size_t(info->width) * 3, step = row + 7;
  std::vector<std::uint8_t> memory(step * std::size_t(info->height), 0xA5);
  FixedTarget target({memory.data(), info->height, info->width, 3, std::ptrdiff_t(step)});
  ASSERT_TRUE(decode_image(file, test::in_mode(PixelMode::rgb), target).ok());
  for (std::size_t y = 0; y < std::size_t(info->height); ++y) {
    const auto begin = memory.begin() + std::ptrdiff_t(y * step);
    ASSERT_TRUE(
        std::equal(begin, begin + std::ptrdiff_t(row), expected.begin() + std::ptrdiff_t(y * row)))
        << "row " << y;
    ASSERT_EQ(std::count(begin + std::ptrdiff_t(row), begin + std::ptrdiff_t(step), 0xA5), 7);
  }
}

}  // namespace
}  // namespace penstock
