// JPEGs resized plane by plane (exact=False): the planes are libjpeg's, the result is near the
// exact one everywhere, and damage gives the same pixels every time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <thread>

#include "images.h"
#include "media/image/jpeg_reader.h"
#include "media/image/jpeg_scan.h"  // libjpeg

namespace penstock {
namespace {

using media::JpegPlane;
using media::JpegReader;
using test::image_file;
using test::Pixels;

const std::vector<std::string> kPlanar = {
    "410.jpg",     "411.jpg",       "420.jpg",      "422.jpg",     "440.jpg",    "444.jpg",
    "restart.jpg", "size17x15.jpg", "size66x9.jpg", "size7x5.jpg", "size1x1.jpg"};

std::span<const std::uint8_t> bytes_of(const std::vector<std::byte>& file) {
  return {reinterpret_cast<const std::uint8_t*>(file.data()), file.size()};
}

struct Samples {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> values;
};

// The planes of a picture at 1 / scale of their own sizes, by libjpeg alone: one component at a
// time, as if the file had no other and were grey.
std::vector<Samples> by_libjpeg(const std::vector<std::byte>& file) {
  jpeg_decompress_struct d{};
  jpeg_error_mgr errors{};
  d.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&d);
  jpeg_mem_src(&d, bytes_of(file).data(), file.size());
  jpeg_read_header(&d, TRUE);
  d.raw_data_out = TRUE;
  d.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&d);
  std::vector<Samples> planes(3);
  std::vector<std::vector<JSAMPROW>> rows(3);
  const std::int64_t mcu_rows = std::int64_t(d.total_iMCU_rows);
  JSAMPARRAY arrays[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const jpeg_component_info& info = d.comp_info[i];
    Samples& plane = planes[i];
    plane.width = std::int64_t(info.width_in_blocks) * 8 + 64;
    plane.height = mcu_rows * info.v_samp_factor * 8;
    plane.values.resize(std::size_t(plane.width * plane.height));
    rows[i].resize(std::size_t(plane.height));
    for (std::int64_t y = 0; y < plane.height; ++y)
      rows[i][std::size_t(y)] = plane.values.data() + y * plane.width;
  }
  for (std::int64_t row = 0; row < mcu_rows; ++row) {
    for (std::size_t i = 0; i < 3; ++i)
      arrays[i] = rows[i].data() + row * d.comp_info[i].v_samp_factor * 8;
    jpeg_read_raw_data(&d, arrays, JDIMENSION(d.max_v_samp_factor * 8));
  }
  jpeg_finish_decompress(&d);
  jpeg_destroy_decompress(&d);
  return planes;
}

TEST(Planes, are_libjpegs) {
  std::mt19937 random(3);
  for (const auto& name : kPlanar) {
    const auto file = image_file(name);
    const std::vector<Samples> expected = by_libjpeg(file);
    for (int i = 0; i < 20; ++i) {
      JpegReader& reader = JpegReader::of_thread();
      ASSERT_TRUE(reader.open(bytes_of(file), true).ok());
      const auto& header = reader.header();
      ASSERT_GT(header.chroma.x, 0) << name;
      const auto some = [&](std::int64_t width, std::int64_t height) {
        JpegPlane plane;
        plane.region.x = std::int64_t(random() % std::uint32_t(width));
        plane.region.y = std::int64_t(random() % std::uint32_t(height));
        plane.region.width = 1 + std::int64_t(random() % std::uint32_t(width - plane.region.x));
        plane.region.height = 1 + std::int64_t(random() % std::uint32_t(height - plane.region.y));
        return plane;
      };
      const JpegPlane luma = some(header.width, header.height);
      const JpegPlane chroma = some(media::scaled_size(header.width, header.chroma.x),
                                    media::scaled_size(header.height, header.chroma.y));
      ASSERT_TRUE(reader.start_planes(luma, chroma)) << name;
      std::int64_t done[3] = {};
      while (done[0] < luma.region.height || done[1] < chroma.region.height) {
        ASSERT_TRUE(reader.next_planes()) << name;
        for (int p = 0; p < 3; ++p) {
          const Rect& region = (p == 0 ? luma : chroma).region;
          const media::PlaneRows rows = reader.plane_rows(p);
          const Samples& plane = expected[std::size_t(p)];
          for (std::int64_t y = 0; y < rows.count; ++y) {
            const std::uint8_t* row = rows.data + y * rows.row_bytes;
            const std::uint8_t* right =
                plane.values.data() + (region.y + done[p] + y) * plane.width + region.x;
            ASSERT_TRUE(std::equal(row, row + region.width, right)) << name << " plane " << p;
          }
          done[p] += rows.count;
        }
      }
      EXPECT_EQ(done[1], chroma.region.height);
      EXPECT_EQ(done[2], chroma.region.height);
      EXPECT_TRUE(reader.finish().ok());
    }
  }
}

CropResize plan_of(Rect crop, std::int64_t width, std::int64_t height, bool exact) {
  CropResize plan;
  plan.crop = crop;
  plan.out_width = width, plan.out_height = height;
  plan.exact = exact;
  return plan;
}

Pixels made(const std::vector<std::byte>& file, const CropResize& plan,
            PixelMode mode = PixelMode::rgb) {
  Pixels pixels;
  auto shape = decode_crop_resize(file, test::in_mode(mode), plan, pixels);
  EXPECT_TRUE(shape.ok()) << shape.error().to_string();
  return pixels;
}

struct Difference {
  double decibels = 99;
  double bias = 0;  // how much brighter on average
};

// Of the pixels that `counts(x, y)` chooses.
template <class Counts>
Difference difference(const Pixels& exact, const Pixels& other, const Counts& counts) {
  double squares = 0, sum = 0, values = 0;
  const ImageShape& shape = exact.shape;
  for (std::int64_t y = 0; y < shape.height; ++y) {
    for (std::int64_t x = 0; x < shape.width; ++x) {
      if (!counts(x, y)) continue;
      for (int c = 0; c < shape.channels; ++c) {
        const auto at = std::size_t((y * shape.width + x) * shape.channels + c);
        const double d = double(other.bytes[at]) - double(exact.bytes[at]);
        squares += d * d, sum += d, values += 1;
      }
    }
  }
  return {squares == 0 ? 99 : 10 * std::log10(255 * 255 * values / squares), sum / values};
}

double decibels(const Pixels& exact, const Pixels& other) {
  return difference(exact, other, [](std::int64_t, std::int64_t) { return true; }).decibels;
}

TEST(Planes, results_are_near_exact_ones) {
  for (const auto& name : kPlanar) {
    const auto file = image_file(name);
    const auto info = image_info(file);
    for (const double factor : {0.4, 0.9, 1.0, 1.5, 2.3, 3.0, 6.0, 12.0}) {
      for (const bool part : {false, true}) {
        Rect crop{0, 0, info->width, info->height};
        if (part && info->width > 60 && info->height > 60)
          crop = {11, 7, info->width - 34, info->height - 23};
        const auto side = [&](std::int64_t from) {
          return std::max<std::int64_t>(1, std::int64_t(double(from) / factor));
        };
        CropResize plan = plan_of(crop, side(crop.width), side(crop.height), true);
        plan.mirror = part;
        const Pixels exact = made(file, plan);
        plan.exact = false;
        const double floor = info->width > 100 ? 35 : 32;  // of a few pixels each one counts
        EXPECT_GT(decibels(exact, made(file, plan)), floor)
            << name << " by " << factor << " " << part;
      }
    }
  }
}

TEST(Planes, blue_first_is_the_same_picture) {
  const auto file = image_file("420.jpg");
  const CropResize plan = plan_of({10, 20, 150, 100}, 70, 50, false);
  const Pixels rgb = made(file, plan), bgr = made(file, plan, PixelMode::bgr);
  for (std::size_t i = 0; i < rgb.bytes.size(); i += 3) {
    ASSERT_EQ(rgb.bytes[i], bgr.bytes[i + 2]);
    ASSERT_EQ(rgb.bytes[i + 1], bgr.bytes[i + 1]);
    ASSERT_EQ(rgb.bytes[i + 2], bgr.bytes[i]);
  }
}

// At every edge of the picture and with odd corners, where chroma ends within a crop.
TEST(Planes, crops_have_no_fringe) {
  for (const char* name : {"410.jpg", "411.jpg", "420.jpg", "422.jpg", "440.jpg", "444.jpg"}) {
    const auto file = image_file(name);
    const auto info = image_info(file);
    const std::int64_t w = info->width, h = info->height;
    for (const std::int64_t side : {61, 40}) {
      for (const std::int64_t x : {std::int64_t{0}, std::int64_t{17}, w - side}) {
        for (const std::int64_t y : {std::int64_t{0}, std::int64_t{19}, h - side}) {
          for (const std::int64_t out : {20, 48, 90}) {
            const Rect crop{x, y, side, side};
            const Pixels exact = made(file, plan_of(crop, out, out, true));
            const Pixels other = made(file, plan_of(crop, out, out, false));
            const Difference edge =
                difference(exact, other, [out](std::int64_t px, std::int64_t py) {
                  return px == 0 || py == 0 || px == out - 1 || py == out - 1;
                });
            EXPECT_GT(edge.decibels, 30) << name << " " << x << " " << y << " to " << out;
            EXPECT_LT(std::abs(edge.bias), 2) << name << " " << x << " " << y << " to " << out;
          }
        }
      }
    }
  }
}

TEST(Planes, tiny_crops_work_everywhere) {
  for (const auto& name : kPlanar) {
    const auto file = image_file(name);
    const auto info = image_info(file);
    for (const std::int64_t x : {std::int64_t{0}, info->width / 2, info->width - 1}) {
      for (const std::int64_t y : {std::int64_t{0}, info->height / 2, info->height - 1}) {
        const Pixels exact = made(file, plan_of({x, y, 1, 1}, 3, 2, true));
        const Pixels other = made(file, plan_of({x, y, 1, 1}, 3, 2, false));
        EXPECT_GT(decibels(exact, other), 18) << name << " " << x << " " << y;
      }
    }
  }
}

// What came before in a thread must not show, nor which thread it is.
TEST(Planes, damaged_files_give_the_same_pixels_every_time) {
  std::mt19937 random(11);
  DecodeOptions lenient;
  lenient.strict = false;
  int pictures = 0;
  for (const auto& name : {"420.jpg", "444.jpg", "422.jpg", "restart.jpg"}) {
    const auto intact = image_file(name);
    const auto info = image_info(intact);
    for (int i = 0; i < 60; ++i) {
      auto file = intact;
      const std::size_t at = file.size() / 3 + random() % (file.size() * 2 / 3);
      if (i % 2 == 0) {
        file.resize(at);
      } else {
        file[at] ^= std::byte(1U << random() % 8);
      }
      const std::int64_t y = i % 3 == 0 ? 0 : 20;
      const CropResize plan =
          plan_of({9, y, info->width - 20, info->height - y - i % 2}, 50, 40, false);
      const auto outcome = [&] {
        Pixels pixels;
        auto shape = decode_crop_resize(file, lenient, plan, pixels);
        return shape ? std::to_string(pixels.hash()) : shape.error().to_string();
      };
      const std::string first = outcome();
      (void)made(image_file("411.jpg"), plan_of({}, 33, 70, false));
      EXPECT_EQ(outcome(), first) << name << ", damage " << i;
      std::string elsewhere;
      std::thread([&] { elsewhere = outcome(); }).join();
      EXPECT_EQ(elsewhere, first) << name << ", damage " << i;
      pictures += !first.empty() && std::isdigit(first[0]);
    }
  }
  EXPECT_GT(pictures, 100);
}

TEST(Planes, of_a_cut_file_are_refused_when_strict) {
  const auto file = image_file("420.jpg");
  const CropResize plan = plan_of({}, 50, 40, false);
  Pixels pixels;
  for (std::size_t keep = 3; keep < file.size(); keep += 97) {
    auto cut = file;
    cut.resize(keep);
    auto shape = decode_crop_resize(cut, {}, plan, pixels);
    ASSERT_FALSE(shape.ok()) << keep;
    EXPECT_EQ(shape.error().code(), Code::corrupt);
  }
}

}  // namespace
}  // namespace penstock
