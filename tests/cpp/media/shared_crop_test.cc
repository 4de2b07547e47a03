// Crops that are drawn, and crops that several pictures share.
#include "media/image/shared_crop.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "images.h"
#include "media/image/crop_request.h"
#include "media/image/slot.h"

namespace penstock::media {
namespace {

using test::image_file;
using test::Pixels;

CropRequest random_request() {
  CropRequest request;
  request.random = ResizedCropRange{};
  request.size = Size{24, 32};
  request.flip = 0.5;
  return request;
}

FinishSpec finish_of(int channels) {
  FinishSpec finish;
  finish.height = 24, finish.width = 32, finish.channels = channels;
  return finish;
}

RandomStream stream(std::uint64_t position) {
  return RandomStream(RandomKey(3, 1), position);
}

TEST(SharedCrop, image_and_mask_show_the_same_part) {
  const auto image = image_file("photo.png");
  const DecodeOptions grey = test::in_mode(PixelMode::l);
  const CropRequest request = random_request();
  std::set<bool> mirrors;
  for (std::uint64_t position = 0; position < 12; ++position) {
    std::vector<std::uint8_t> first(24 * 32 * 3), second(24 * 32);
    RequestPlanner planner(request, stream(position));
    SharedPlanner shared(planner);
    ASSERT_TRUE(decode_into_slot(as_bytes(image), {}, shared, finish_of(3), first.data()).ok());
    shared.use(Filter::nearest);
    ASSERT_TRUE(decode_into_slot(as_bytes(image), grey, shared, finish_of(1), second.data()).ok());
    const ShownBox shown = shared.shown();
    mirrors.insert(shown.mirrored);

    const ImageInfo info = *image_info(image);
    RandomStream again = stream(position);
    CropResize plan = *plan_crop(request, info.width, info.height, again);
    EXPECT_EQ(plan.mirror, shown.mirrored);
    EXPECT_EQ(plan.crop.box().left, shown.box.left);
    EXPECT_EQ(plan.crop.box().bottom, shown.box.bottom);
    Pixels expected;
    ASSERT_TRUE(decode_crop_resize(image, {}, plan, expected).ok());
    EXPECT_EQ(first, expected.bytes);
    plan.filter = Filter::nearest;
    ASSERT_TRUE(decode_crop_resize(image, grey, plan, expected).ok());
    EXPECT_EQ(second, expected.bytes);
  }
  EXPECT_EQ(mirrors.size(), 2u);
}

TEST(SharedCrop, the_box_is_what_the_result_shows_of_the_picture) {
  CropResize plan;
  plan.crop = {10, 20, 100, 60};
  plan.out_width = 50, plan.out_height = 40;
  plan.keep = {5, 10, 40, 20};
  plan.mirror = true;
  const ShownBox shown = shown_by(plan);
  EXPECT_EQ(shown.box.left, 20);
  EXPECT_EQ(shown.box.top, 35);
  EXPECT_EQ(shown.box.right, 100);
  EXPECT_EQ(shown.box.bottom, 65);
  EXPECT_TRUE(shown.mirrored);
}

TEST(SharedCrop, pictures_of_another_size_are_refused) {
  const auto image = image_file("420.jpg"), other = image_file("size17x15.jpg");
  std::vector<std::uint8_t> slot(24 * 32 * 3);
  RequestPlanner planner(random_request(), stream(0));
  SharedPlanner shared(planner);
  ASSERT_TRUE(decode_into_slot(as_bytes(image), {}, shared, finish_of(3), slot.data()).ok());
  const Status refused = decode_into_slot(as_bytes(other), {}, shared, finish_of(3), slot.data());
  ASSERT_FALSE(refused.ok());
  const Error error = in_field("png", refused.error());
  EXPECT_EQ(error.code(), Code::invalid_argument);
  EXPECT_EQ(error.message().find("field png: it is 17 x 15 pixels"), 0u) << error.message();
}

TEST(SharedCrop, an_image_without_indices_has_none_when_resized_either) {
  CropRequest request = random_request();
  std::vector<std::uint8_t> slot(24 * 32);
  for (const char* name : {"420.jpg", "photo.png"}) {
    RequestPlanner planner(request, stream(0));
    const Status refused =
        decode_into_slot(as_bytes(image_file(name)), test::in_mode(PixelMode::index), planner,
                         finish_of(1), slot.data());
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  }
}

TEST(CropRequest, what_is_drawn_does_not_depend_on_what_else_is_asked_for) {
  CropRequest request = random_request();
  for (std::uint64_t position = 0; position < 30; ++position) {
    RandomStream a = stream(position), b = stream(position), c = stream(position);
    request.flip = 0.5;
    const CropResize both = *plan_crop(request, 500, 375, a);
    request.flip = 0;
    const CropResize crop_only = *plan_crop(request, 500, 375, b);
    EXPECT_EQ(both.crop.x, crop_only.crop.x);
    EXPECT_EQ(both.crop.height, crop_only.crop.height);
    CropRequest flip_only;
    flip_only.flip = 0.5;
    EXPECT_EQ(plan_crop(flip_only, 10, 10, c)->mirror, both.mirror);
  }
}

TEST(CropRequest, what_cannot_be_is_refused) {
  const auto refused = [](auto change) {
    CropRequest request = random_request();
    change(request);
    return !check(request).ok();
  };
  EXPECT_TRUE(check(random_request()).ok());
  EXPECT_TRUE(refused([](CropRequest& r) { r.flip = 1.5; }));
  EXPECT_TRUE(refused([](CropRequest& r) { r.size.reset(); }));
  EXPECT_TRUE(refused([](CropRequest& r) { r.centre = true; }));
  EXPECT_TRUE(refused([](CropRequest& r) { r.crop = Rect{0, 0, 5, 5}; }));
  EXPECT_TRUE(refused([](CropRequest& r) { r.random->min_ratio = 0; }));
  EXPECT_TRUE(refused([](CropRequest& r) { r.random.reset(), r.resize_short = 5; }));
  EXPECT_TRUE(refused([](CropRequest& r) { r.random.reset(), r.resize_short = -5; }));
  EXPECT_TRUE(refused([](CropRequest& r) {
    r = CropRequest();
    r.resize_short = INT64_MAX;
  }));
}

}  // namespace
}  // namespace penstock::media
