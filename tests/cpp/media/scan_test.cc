// Our own decoder of baseline scans against libjpeg's, on intact files and on damaged ones.
#include <gtest/gtest.h>

#include <csetjmp>
#include <cstring>
#include <random>

#include "images.h"
#include "media/image/jpeg_scan.h"

namespace penstock {
namespace {

using test::image_file;
using test::Pixels;

struct Errors {
  jpeg_error_mgr base;
  std::jmp_buf jump;
};

[[noreturn]] void on_error(j_common_ptr info) {
  std::longjmp(reinterpret_cast<Errors*>(info->err)->jump, 1);
}

// The whole picture by libjpeg alone; empty if it gives up.
std::vector<std::uint8_t> by_libjpeg(const std::vector<std::byte>& file) {
  jpeg_decompress_struct d{};
  Errors errors{};
  std::vector<std::uint8_t> pixels;
  d.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = on_error;
  errors.base.emit_message = [](j_common_ptr, int) {};
  if (setjmp(errors.jump)) {
    jpeg_destroy_decompress(&d);
    return {};
  }
  jpeg_create_decompress(&d);
  jpeg_mem_src(&d, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&d, TRUE);
  d.out_color_space = d.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  d.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&d);
  const std::size_t row = std::size_t(d.output_width) * std::size_t(d.output_components);
  pixels.resize(row * d.output_height);
  while (d.output_scanline < d.output_height) {
    JSAMPROW to = pixels.data() + row * d.output_scanline;
    jpeg_read_scanlines(&d, &to, 1);
  }
  jpeg_finish_decompress(&d);
  jpeg_destroy_decompress(&d);
  return pixels;
}

std::vector<std::uint8_t> by_us(const std::vector<std::byte>& file) {
  Pixels pixels;
  DecodeOptions options;
  options.mode = PixelMode::unchanged;
  options.strict = false;
  if (!decode_image(file, options, pixels)) return {};
  return pixels.bytes;
}

// Noise: a file that is many times longer than what is unpacked of it at a time.
std::vector<std::byte> long_file(Subsampling subsampling) {
  constexpr std::int64_t kHeight = 200, kWidth = 263;
  std::mt19937 random(3);
  std::vector<std::uint8_t> pixels(kHeight * kWidth * 3);
  for (std::uint8_t& sample : pixels) sample = std::uint8_t(random());
  EncodeOptions options;
  options.format = ImageFormat::jpeg, options.quality = 100, options.subsampling = subsampling;
  return encode_image({pixels.data(), kHeight, kWidth, 3, kWidth * 3}, options).value();
}

struct Named {
  std::string name;
  std::vector<std::byte> file;
};

std::vector<Named> baseline_files() {
  std::vector<Named> all = {{"long 444", long_file(Subsampling::s444)},
                            {"long 420", long_file(Subsampling::s420)}};
  for (const char* name : {"410.jpg", "411.jpg", "420.jpg", "422.jpg", "440.jpg", "444.jpg",
                           "grey.jpg", "rgb.jpg", "restart.jpg", "size1x1.jpg", "size17x15.jpg"}) {
    all.push_back({name, image_file(name)});
  }
  return all;
}

TEST(Scan, intact_pictures_are_libjpegs) {
  for (const auto& [name, file] : baseline_files()) {
    const auto expected = by_libjpeg(file);
    ASSERT_FALSE(expected.empty()) << name;
    EXPECT_EQ(by_us(file), expected) << name;
  }
}

TEST(Scan, what_becomes_of_damage_is_libjpegs_word) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return std::size_t(random() % n); };
  int differ = 0;
  for (const auto& [name, intact] : baseline_files()) {
    const auto whole = by_libjpeg(intact);
    const std::size_t scan = intact.size() / 2;  // behind the tables
    for (int i = 0; i < 60; ++i) {
      auto file = intact;
      const std::size_t at = scan + below(file.size() - scan);
      switch (i % 5) {
        case 0:
          file.resize(at);
          break;
        case 1:
          file[at] ^= std::byte(1U << below(8));
          break;
        case 2:
          file.insert(file.begin() + std::ptrdiff_t(at), 1 + below(9), std::byte(below(256)));
          break;
        case 3:
          file.insert(file.begin() + std::ptrdiff_t(at),
                      {std::byte{0xFF}, std::byte(0xD0 + below(10))});
          break;
        default:
          file.erase(file.begin() + std::ptrdiff_t(at),
                     file.begin() + std::ptrdiff_t(std::min(file.size(), at + 1 + below(20))));
      }
      const auto expected = by_libjpeg(file);
      ASSERT_EQ(by_us(file), expected) << name << ", damage " << i;
      differ += expected != whole;
    }
  }
  EXPECT_GT(differ, 100);  // the damage did something
}

}  // namespace
}  // namespace penstock
