// Bad images: a typed error with a reason, never a crash, never silence under `strict`.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "images.h"

namespace penstock {
namespace {

using test::image_file;
using test::Pixels;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

Result<ImageShape> decode(const std::vector<std::byte>& file, bool strict = true) {
  Pixels pixels;
  DecodeOptions options;
  options.strict = strict;
  return decode_image(file, options, pixels);
}

TEST(Damage, no_bytes_and_unknown_bytes_are_told_apart) {
  EXPECT_EQ(decode({}).error().code(), Code::corrupt);
  auto unknown = decode(bytes_of("hello, world"));
  EXPECT_EQ(unknown.error().code(), Code::unsupported);
  EXPECT_NE(unknown.error().message().find("68 65 6c 6c 6f"), std::string::npos);
}

TEST(Damage, a_jpeg_cut_anywhere_is_refused_when_strict) {
  const auto file = image_file("420.jpg");
  for (std::size_t keep = 3; keep < file.size(); keep += 97) {
    auto cut = file;
    cut.resize(keep);
    auto shape = decode(cut);
    ASSERT_FALSE(shape.ok()) << keep;
    EXPECT_EQ(shape.error().code(), Code::corrupt) << shape.error().to_string();
  }
}

TEST(Damage, a_cut_jpeg_gives_what_is_there_when_not_strict) {
  auto file = image_file("420.jpg");
  Pixels whole, part;
  ASSERT_TRUE(decode_image(file, {}, whole).ok());
  file.resize(file.size() * 3 / 4);
  DecodeOptions lenient;
  lenient.strict = false;
  ASSERT_TRUE(decode_image(file, lenient, part).ok());
  EXPECT_EQ(std::memcmp(whole.bytes.data(), part.bytes.data(), whole.bytes.size() / 3), 0);
  EXPECT_NE(whole.bytes, part.bytes);
}

TEST(Damage, a_jpeg_cut_below_the_crop_is_noticed_though_never_read) {
  auto file = image_file("420.jpg");
  CropResize plan;
  plan.crop = {0, 0, 64, 32};
  plan.out_width = plan.out_height = 16;
  Pixels pixels;
  ASSERT_TRUE(decode_crop_resize(file, {}, plan, pixels).ok());
  file.resize(file.size() - 500);
  EXPECT_EQ(decode_crop_resize(file, {}, plan, pixels).error().code(), Code::corrupt);
  DecodeOptions lenient;
  lenient.strict = false;
  EXPECT_TRUE(decode_crop_resize(file, lenient, plan, pixels).ok());
}

TEST(Damage, garbage_before_a_marker_is_refused_only_when_strict) {
  auto file = image_file("420.jpg");
  constexpr int kAfterJfif = 20;
  file.insert(file.begin() + kAfterJfif, {std::byte{0}, std::byte{1}, std::byte{2}});
  auto strict = decode(file);
  ASSERT_FALSE(strict.ok());
  EXPECT_NE(strict.error().message().find("extraneous"), std::string::npos);
  EXPECT_TRUE(decode(file, false).ok());
}

TEST(Damage, every_format_refuses_every_cut) {
  for (const char* name : {"photo.png", "type6-16-interlaced.png", "lossy.webp", "lossless.webp",
                           "RGB.tif", "palette.bmp", "interlaced.gif", "plain.ppm", "raw.ppm"}) {
    const auto file = image_file(name);
    for (std::size_t keep = 0; keep + 8 < file.size(); keep += 1 + file.size() / 150) {
      auto cut = file;
      cut.resize(keep);
      EXPECT_FALSE(decode(cut).ok()) << name << " cut to " << keep << " of " << file.size();
    }
  }
}

TEST(Damage, flipped_bits_never_crash_and_png_always_notices) {
  std::mt19937 random(7);
  for (const char* name : {"420.jpg", "progressive.jpg", "photo.png", "lossy.webp", "RGB.tif",
                           "palette.bmp", "palette.gif", "plain.ppm"}) {
    const auto file = image_file(name);
    for (int i = 0; i < 150; ++i) {
      auto bad = file;
      const std::size_t at = random() % bad.size();
      bad[at] ^= std::byte(1u << random() % 8);
      auto shape = decode(bad);
      if (std::string(name) == "photo.png" && at < bad.size() - 12) {
        EXPECT_FALSE(shape.ok()) << "bit flipped at " << at;
      }
      (void)decode(bad, false);
    }
  }
}

// The size in a header, made absurd.
std::vector<std::byte> huge(const char* name, std::size_t at, std::string_view size) {
  auto file = image_file(name);
  std::memcpy(file.data() + at, size.data(), size.size());
  return file;
}

TEST(Damage, absurd_dimensions_are_refused_before_anything_is_allocated) {
  class Refuses final : public PixelTarget {
   public:
    Result<PixelMemory> place(const ImageShape&) override {
      ADD_FAILURE() << "asked for memory";
      return Error(Code::internal, "asked for memory");
    }
  } target;
  const std::vector<std::vector<std::byte>> files = {
      huge("raw.ppm", 3, "99999999 99999999\n255\n"),
      huge("RGB.bmp", 18, std::string_view("\xFF\xFF\xFF\x7F\xFF\xFF\xFF\x7F", 8)),
      huge("palette.gif", 6, "\xFF\xFF\xFF\xFF")};
  for (const auto& file : files) {
    auto shape = decode_image(file, {}, target);
    ASSERT_FALSE(shape.ok());
    EXPECT_EQ(shape.error().code(), Code::out_of_range) << shape.error().to_string();
  }
  DecodeOptions small;
  small.max_pixels = 1000;
  for (const char* name : {"420.jpg", "photo.png", "lossy.webp", "group4.tif", "palette.gif"}) {
    auto shape = decode_image(image_file(name), small, target);
    ASSERT_FALSE(shape.ok()) << name;
    EXPECT_EQ(shape.error().code(), Code::out_of_range) << name;
    CropResize plan;
    plan.out_width = plan.out_height = 8;
    EXPECT_EQ(decode_crop_resize(image_file(name), small, plan, target).error().code(),
              Code::out_of_range);
  }
}

TEST(Damage, a_twelve_bit_jpeg_is_unsupported_not_corrupt) {
  auto file = image_file("grey.jpg");
  for (std::size_t i = 0; i + 4 < file.size(); ++i) {
    if (file[i] == std::byte{0xFF} && file[i + 1] == std::byte{0xC0}) file[i + 4] = std::byte{12};
  }
  EXPECT_EQ(decode(file).error().code(), Code::unsupported);
}

TEST(Damage, a_huge_exif_block_changes_nothing) {
  auto file = image_file("orientation6.jpg");
  std::vector<std::byte> block(65535, std::byte{0xFF});
  block[0] = std::byte{0xFF}, block[1] = std::byte{0xE1};
  block[2] = std::byte{0xFF}, block[3] = std::byte{0xFD};
  file.insert(file.begin() + 2, block.begin(), block.end());
  auto info = image_info(file);
  ASSERT_TRUE(info.ok()) << info.error().to_string();
  EXPECT_EQ(info->orientation, 6);
  EXPECT_TRUE(decode(file).ok());
}

TEST(Damage, a_target_that_has_no_memory_ends_the_decode) {
  class Full final : public PixelTarget {
   public:
    Result<PixelMemory> place(const ImageShape&) override {
      return Error(Code::out_of_memory, "the budget is spent");
    }
  } target;
  for (const char* name : {"420.jpg", "photo.png", "lossy.webp", "RGB.tif", "RGB.bmp", "raw.ppm"}) {
    EXPECT_EQ(decode_image(image_file(name), {}, target).error().code(), Code::out_of_memory);
  }
}

}  // namespace
}  // namespace penstock
