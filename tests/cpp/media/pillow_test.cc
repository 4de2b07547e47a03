// Every picture in tests/data/images against what Pillow makes of it.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "images.h"

namespace penstock {
namespace {

using test::image_file;
using test::Pixels;

const std::map<std::string, PixelMode> kModes = {
    {"RGB", PixelMode::rgb}, {"RGBA", PixelMode::rgba}, {"L", PixelMode::l}};

std::vector<std::string> expectations(const std::string& kind) {
  std::ifstream stream(test::image_folder() / "expected.txt");
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind(kind, 0) == 0) lines.push_back(line.substr(kind.size()));
  }
  return lines;
}

std::uint64_t number(const std::string& hex) {
  return std::stoull(hex, nullptr, 16);
}

TEST(Pillow, every_picture_decodes_to_the_same_pixels) {
  const auto lines = expectations("decode ");
  ASSERT_GT(lines.size(), 250u);
  for (const std::string& line : lines) {
    std::istringstream in(line);
    std::string name, mode, hash;
    std::int64_t height, width;
    int channels;
    in >> name >> mode >> height >> width >> channels >> hash;
    Pixels pixels;
    auto shape = decode_image(image_file(name), test::in_mode(kModes.at(mode)), pixels);
    ASSERT_TRUE(shape.ok()) << line << ": " << shape.error().to_string();
    EXPECT_EQ(shape->height, height) << line;
    EXPECT_EQ(shape->width, width) << line;
    EXPECT_EQ(shape->channels, channels) << line;
    EXPECT_EQ(pixels.hash(), number(hash)) << line;
  }
}

TEST(Pillow, every_crop_resizes_to_the_same_pixels) {
  const auto lines = expectations("crop ");
  ASSERT_GT(lines.size(), 100u);
  for (const std::string& line : lines) {
    std::istringstream in(line);
    std::string name, mode, filter, hash;
    CropResize plan;
    in >> name >> mode >> plan.crop.x >> plan.crop.y >> plan.crop.width >> plan.crop.height >>
        plan.out_width >> plan.out_height >> filter >> hash;
    plan.filter = filter == "bicubic" ? Filter::bicubic : Filter::bilinear;
    Pixels pixels;
    auto shape = decode_crop_resize(image_file(name), test::in_mode(kModes.at(mode)), plan, pixels);
    ASSERT_TRUE(shape.ok()) << line << ": " << shape.error().to_string();
    EXPECT_EQ(pixels.hash(), number(hash)) << line;
  }
}

TEST(Pillow, bgr_is_rgb_backwards) {
  for (const char* name : {"420.jpg", "cmyk.jpg", "photo.png", "lossy.webp", "RGB.tif"}) {
    Pixels rgb, bgr;
    ASSERT_TRUE(decode_image(image_file(name), test::in_mode(PixelMode::rgb), rgb).ok());
    ASSERT_TRUE(decode_image(image_file(name), test::in_mode(PixelMode::bgr), bgr).ok());
    for (std::size_t i = 0; i < rgb.bytes.size(); i += 3) {
      ASSERT_EQ(rgb.bytes[i], bgr.bytes[i + 2]) << name;
      ASSERT_EQ(rgb.bytes[i + 1], bgr.bytes[i + 1]) << name;
      ASSERT_EQ(rgb.bytes[i + 2], bgr.bytes[i]) << name;
    }
  }
}

}  // namespace
}  // namespace penstock
