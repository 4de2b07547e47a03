// Crop, resize, keep and mirror in one go: equal to the steps one by one, or close by choice.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "images.h"
#include "media/image/batch.h"
#include "media/image/crop_plan.h"
#include "media/image/slot.h"

namespace penstock {
namespace {

using test::image_file;
using test::Pixels;

CropResize plan_of(Rect crop, std::int64_t width, std::int64_t height) {
  CropResize plan;
  plan.crop = crop;
  plan.out_width = width, plan.out_height = height;
  return plan;
}

Pixels made(const std::string& name, const CropResize& plan, DecodeOptions options = {}) {
  Pixels pixels;
  auto shape = decode_crop_resize(image_file(name), options, plan, pixels);
  EXPECT_TRUE(shape.ok()) << shape.error().to_string();
  return pixels;
}

double decibels(const Pixels& a, const Pixels& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.bytes.size(); ++i) {
    const double d = double(a.bytes[i]) - double(b.bytes[i]);
    sum += d * d;
  }
  return sum == 0 ? 99 : 10 * std::log10(255 * 255 * double(a.bytes.size()) / sum);
}

TEST(Fused, keep_and_mirror_cut_out_of_the_same_result) {
  for (const char* name : {"420.jpg", "photo.png", "alpha.webp"}) {
    for (const PixelMode mode : {PixelMode::rgb, PixelMode::rgba, PixelMode::l}) {
      const DecodeOptions options = test::in_mode(mode);
      CropResize plan = plan_of({5, 3, 50, 37}, 40, 30);
      const Pixels whole = made(name, plan, options);
      plan.keep = {7, 4, 20, 15};
      plan.mirror = true;
      const Pixels part = made(name, plan, options);
      const int c = part.shape.channels;
      for (int y = 0; y < 15; ++y) {
        for (int x = 0; x < 20; ++x) {
          for (int k = 0; k < c; ++k) {
            ASSERT_EQ(part.bytes[std::size_t((y * 20 + 19 - x) * c + k)],
                      whole.bytes[std::size_t(((y + 4) * 40 + x + 7) * c + k)])
                << name;
          }
        }
      }
    }
  }
}

TEST(Fused, the_planner_sees_the_upright_size) {
  class Planner final : public CropPlanner {
   public:
    Result<CropResize> plan(const ImageInfo& info) override {
      width = info.width, height = info.height;
      return plan_of({0, 0, info.width, info.height}, 16, 16);
    }
    std::int64_t width = 0, height = 0;
  } planner;
  DecodeOptions options;
  options.apply_orientation = true;
  Pixels pixels;
  ASSERT_TRUE(decode_crop_resize(image_file("orientation6.jpg"), options, planner, pixels).ok());
  EXPECT_EQ(planner.width, 43);
  EXPECT_EQ(planner.height, 61);
  options.apply_orientation = false;
  ASSERT_TRUE(decode_crop_resize(image_file("orientation6.jpg"), options, planner, pixels).ok());
  EXPECT_EQ(planner.width, 61);
}

TEST(Fused, scale_leaves_the_resolution_asked_for) {
  EXPECT_EQ(media::decode_scale(500, 375, 224, 224, 1.5), 1);
  EXPECT_EQ(media::decode_scale(672, 672, 224, 224, 1.5), 2);
  EXPECT_EQ(media::decode_scale(672, 671, 224, 224, 1.5), 1);
  EXPECT_EQ(media::decode_scale(1920, 1080, 224, 224, 1.5), 2);
  EXPECT_EQ(media::decode_scale(1920, 1080, 224, 224, 1.0), 4);
  EXPECT_EQ(media::decode_scale(5000, 5000, 224, 224, 1.5), 8);
}

TEST(Fused, inexact_stays_near_exact) {
  for (const char* name : {"420.jpg", "progressive.jpg", "444.jpg", "422.jpg"}) {
    const auto info = image_info(image_file(name));
    for (const int factor : {1, 3, 6, 12}) {
      CropResize plan = plan_of({3, 5, info->width - 7, info->height - 6}, 0, 0);
      plan.out_width = plan.crop.width / factor, plan.out_height = plan.crop.height / factor;
      const Pixels exact = made(name, plan);
      plan.exact = false;
      EXPECT_GT(decibels(exact, made(name, plan)), 35) << name << " by " << factor;
    }
  }
}

TEST(Fused, masks_move_by_nearest_neighbour_and_invent_no_value) {
  CropResize plan = plan_of({1, 1, 11, 7}, 29, 23);
  plan.filter = Filter::nearest;
  const Pixels small = made("type3-2.png", plan, test::in_mode(PixelMode::index));
  EXPECT_EQ(small.shape.channels, 1);
  for (const std::uint8_t index : small.bytes) EXPECT_LT(index, 4);
  const Pixels deep = made("type0-16.png", plan, test::in_mode(PixelMode::unchanged));
  EXPECT_EQ(deep.shape.bits, 16);
  plan.filter = Filter::bilinear;
  Pixels pixels;
  EXPECT_EQ(decode_crop_resize(image_file("type0-16.png"), test::in_mode(PixelMode::unchanged),
                               plan, pixels)
                .error()
                .code(),
            Code::unsupported);
}

TEST(Fused, plans_that_cannot_work_are_refused) {
  Pixels pixels;
  const auto code = [&](const CropResize& plan) {
    auto shape = decode_crop_resize(image_file("420.jpg"), {}, plan, pixels);
    return shape ? Code::internal : shape.error().code();
  };
  EXPECT_EQ(code(plan_of({0, 0, 302, 10}, 8, 8)), Code::invalid_argument);
  EXPECT_EQ(code(plan_of({0, 0, 10, 10}, 0, 8)), Code::invalid_argument);
  CropResize plan = plan_of({}, 8, 8);
  plan.keep = {4, 4, 5, 4};
  EXPECT_EQ(code(plan), Code::invalid_argument);
  plan = plan_of({}, 8, 8);
  plan.min_left = 0.5;
  EXPECT_EQ(code(plan), Code::invalid_argument);
}

TEST(Fused, a_slot_gets_its_final_layout_and_type) {
  class Planner final : public CropPlanner {
   public:
    Result<CropResize> plan(const ImageInfo&) override { return plan_of({8, 8, 200, 150}, 32, 24); }
  } planner;
  const auto file = image_file("420.jpg");
  const auto bytes = media::as_bytes(file);
  Pixels rows;
  ASSERT_TRUE(decode_crop_resize(file, {}, planner, rows).ok());

  FinishSpec finish;
  finish.height = 24, finish.width = 32;
  finish.layout = ImageLayout::chw;
  finish.type = DType::float32;
  std::vector<float> slot(3 * 24 * 32);
  ASSERT_TRUE(media::decode_into_slot(bytes, {}, planner, finish, slot.data()).ok());
  for (int i = 0; i < 24 * 32; ++i) {
    for (int c = 0; c < 3; ++c) {
      ASSERT_EQ(slot[std::size_t(c * 24 * 32 + i)], float(rows.bytes[std::size_t(i * 3 + c)]));
    }
  }
  finish.width = 31;
  EXPECT_EQ(media::decode_into_slot(bytes, {}, planner, finish, slot.data()).error().code(),
            Code::invalid_argument);
}

TEST(Fused, a_request_is_planned_as_torchvision_would) {
  const auto planned = [](const media::CropRequest& request, std::int64_t w, std::int64_t h) {
    RandomStream unused(RandomKey(0, 0), 0);
    return media::plan_crop(request, w, h, unused);
  };
  media::CropRequest request;
  request.resize_short = 256, request.size = Size{224, 224}, request.centre = true;
  auto plan = planned(request, 500, 375);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->out_width, 341);  // int(256 * 500 / 375)
  EXPECT_EQ(plan->out_height, 256);
  EXPECT_EQ(plan->keep.x, 58);  // round(58.5), to even
  EXPECT_EQ(plan->keep.y, 16);
  request.resize_short = 200;
  EXPECT_EQ(planned(request, 500, 375).error().code(), Code::invalid_argument);
  request.centre = false;
  EXPECT_EQ(planned(request, 500, 375).error().code(), Code::invalid_argument);
  request.size.reset();
  EXPECT_EQ(planned(request, 375, 500)->out_height, 266);
}

TEST(Fused, one_bad_picture_of_a_batch_costs_the_others_nothing) {
  const auto good = image_file("420.jpg"), other = image_file("photo.png");
  const auto bad = image_file("expected.txt");
  const std::vector<media::Bytes> files = {media::as_bytes(good), media::as_bytes(bad),
                                           media::as_bytes(other)};
  std::vector<media::CropRequest> requests(3);
  for (auto& request : requests) request.size = Size{16, 16};
  requests[2].crop = Rect{3, 4, 20, 30};
  FinishSpec finish;
  finish.height = finish.width = 16;
  std::vector<std::byte> slots(3 * finish.bytes(), std::byte{1});
  std::vector<Status> outcomes(3);
  media::decode_batch(files, {}, requests, finish, slots.data(), outcomes, 3);
  EXPECT_TRUE(outcomes[0].ok());
  EXPECT_FALSE(outcomes[1].ok());
  EXPECT_TRUE(outcomes[2].ok());
  const Pixels first = made("420.jpg", plan_of({}, 16, 16));
  EXPECT_EQ(std::memcmp(slots.data(), first.bytes.data(), finish.bytes()), 0);
  const Pixels third = made("photo.png", plan_of({3, 4, 20, 30}, 16, 16));
  EXPECT_EQ(std::memcmp(&slots[2 * finish.bytes()], third.bytes.data(), finish.bytes()), 0);
  for (std::size_t i = 0; i < finish.bytes(); ++i) {
    ASSERT_EQ(slots[finish.bytes() + i], std::byte{0});
  }
}

TEST(Fused, many_threads_get_the_same_pixels) {
  const CropResize plan = plan_of({10, 10, 130, 90}, 64, 48);
  const std::vector<std::string> names = {"420.jpg", "progressive.jpg", "cmyk.jpg", "410.jpg"};
  std::vector<std::uint64_t> expected;
  for (const auto& name : names) expected.push_back(made(name, plan).hash());
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 40; ++i) {
        const std::size_t k = (i + t) % names.size();
        wrong[t] += made(names[k], plan).hash() != expected[k];
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace penstock
