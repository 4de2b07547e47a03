// image_info, modes other than Pillow's, and memory the caller brings.
#include <gtest/gtest.h>

#include "images.h"
#include "media/image/exif.h"

namespace penstock {
namespace {

using test::image_file;
using test::Pixels;

ImageInfo info_of(const char* name) {
  auto info = image_info(image_file(name));
  EXPECT_TRUE(info.ok()) << name;
  return info ? *info : ImageInfo{};
}

TEST(Info, tells_format_size_channels_and_bits_from_the_header) {
  struct Case {
    const char* name;
    ImageFormat format;
    int width, height, channels, bits;
  };
  for (const Case& c : {Case{"420.jpg", ImageFormat::jpeg, 301, 203, 3, 8},
                        {"grey.jpg", ImageFormat::jpeg, 151, 101, 1, 8},
                        {"cmyk.jpg", ImageFormat::jpeg, 151, 101, 4, 8},
                        {"type0-1.png", ImageFormat::png, 13, 9, 1, 1},
                        {"type2-16.png", ImageFormat::png, 13, 9, 3, 16},
                        {"type3-4.png", ImageFormat::png, 13, 9, 3, 4},
                        {"type3-4-transparent.png", ImageFormat::png, 13, 9, 4, 4},
                        {"type4-8.png", ImageFormat::png, 13, 9, 2, 8},
                        {"alpha.webp", ImageFormat::webp, 61, 43, 4, 8},
                        {"CMYK.tif", ImageFormat::tiff, 31, 23, 4, 8},
                        {"orientation6.tif", ImageFormat::tiff, 23, 31, 3, 8},
                        {"RGBA.bmp", ImageFormat::bmp, 31, 23, 3, 8},
                        {"transparent.gif", ImageFormat::gif, 31, 23, 4, 8},
                        {"deep.pgm", ImageFormat::pnm, 11, 7, 1, 16}}) {
    const ImageInfo info = info_of(c.name);
    EXPECT_EQ(info.format, c.format) << c.name;
    EXPECT_EQ(info.width, c.width) << c.name;
    EXPECT_EQ(info.height, c.height) << c.name;
    EXPECT_EQ(info.channels, c.channels) << c.name;
    EXPECT_EQ(info.bits, c.bits) << c.name;
    Pixels pixels;
    auto shape = decode_image(image_file(c.name), test::in_mode(PixelMode::unchanged), pixels);
    ASSERT_TRUE(shape.ok()) << c.name;
    EXPECT_EQ(shape->channels, c.channels) << c.name;
    EXPECT_EQ(shape->bits, c.bits == 16 ? 16 : 8) << c.name;
  }
}

TEST(Info, orientation_is_read_and_applied_only_on_request) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const std::string name = "orientation" + std::to_string(orientation) + ".jpg";
    const ImageInfo info = info_of(name.c_str());
    EXPECT_EQ(info.orientation, orientation);
    EXPECT_EQ(info.width, 61);
    EXPECT_EQ(info.upright_width(), orientation > 4 ? 43 : 61);
  }
}

TEST(Info, sixteen_bits_survive_unchanged) {
  Pixels pixels;
  auto shape = decode_image(image_file("deep.tif"), test::in_mode(PixelMode::unchanged), pixels);
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(shape->bits, 16);
  bool above_255 = false;
  for (std::size_t i = 1; i < pixels.bytes.size(); i += 2) above_255 |= pixels.bytes[i] != 0;
  EXPECT_TRUE(above_255);
}

TEST(Info, index_mode_gives_palette_indices_and_refuses_colour) {
  Pixels pixels;
  auto shape = decode_image(image_file("type3-2.png"), test::in_mode(PixelMode::index), pixels);
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(shape->channels, 1);
  for (const std::uint8_t index : pixels.bytes) EXPECT_LT(index, 4);
  for (const char* name : {"palette.gif", "palette.bmp", "palette.tif", "grey.jpg"}) {
    EXPECT_TRUE(decode_image(image_file(name), test::in_mode(PixelMode::index), pixels).ok());
  }
  EXPECT_EQ(
      decode_image(image_file("420.jpg"), test::in_mode(PixelMode::index), pixels).error().code(),
      Code::invalid_argument);
}

TEST(Info, given_memory_may_be_bottom_up_and_must_fit) {
  const auto file = image_file("photo.png");  // 61 x 43
  Pixels down;
  ASSERT_TRUE(decode_image(file, {}, down).ok());
  std::vector<std::uint8_t> memory(43 * 200);
  FixedTarget up(ImageView{memory.data() + 42 * 200, 43, 61, 3, -200});
  ASSERT_TRUE(decode_image(file, {}, up).ok());
  for (int y = 0; y < 43; ++y) {
    const auto* row = memory.data() + (42 - y) * 200;
    EXPECT_TRUE(std::equal(row, row + 183, down.bytes.data() + y * 183));
  }
  FixedTarget wrong(ImageView{memory.data(), 43, 60, 3, 180});
  auto refused = decode_image(file, {}, wrong);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("43 x 61 x 3"), std::string::npos);
}

TEST(Info, nonsense_in_exif_means_upright) {
  const auto orientation = [](std::initializer_list<int> bytes) {
    std::vector<std::uint8_t> block;
    for (const int b : bytes) block.push_back(std::uint8_t(b));
    return media::exif_orientation(block);
  };
  EXPECT_EQ(orientation({}), 1);
  EXPECT_EQ(orientation({'I', 'I', 42, 0, 255, 255, 255, 255}), 1);
  EXPECT_EQ(orientation({'X', 'X', 42, 0, 8, 0, 0, 0, 1, 0}), 1);
  EXPECT_EQ(orientation({'I', 'I', 42, 0, 8, 0, 0, 0, 255, 255, 0x12, 1}), 1);
  EXPECT_EQ(orientation({'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 8, 0, 0, 0}),
            8);
  EXPECT_EQ(orientation({'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 9, 0, 0}),
            1);
}

}  // namespace
}  // namespace penstock
