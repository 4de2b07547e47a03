// What random transforms draw: in range, torchvision's distribution, the same for the same stream.
#include "transform/random_crop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "penstock/random.h"

namespace penstock {
namespace {

static_assert(UniformSource<RandomStream>);

RandomStream stream(std::uint64_t position) {
  return {RandomKey(7, 0), position};
}

TEST(RandomCrop, lies_inside_and_has_an_area_and_a_shape_in_range) {
  const ResizedCropRange range;
  double mean_area = 0;
  constexpr int count = 20000;
  for (int i = 0; i < count; ++i) {
    RandomStream numbers = stream(static_cast<std::uint64_t>(i));
    const Rect crop = draw_resized_crop(500, 375, range, numbers);
    ASSERT_GE(crop.x, 0);
    ASSERT_GE(crop.y, 0);
    ASSERT_LE(crop.x + crop.width, 500);
    ASSERT_LE(crop.y + crop.height, 375);
    const double area = static_cast<double>(crop.width * crop.height) / (500 * 375);
    const double shape = static_cast<double>(crop.width) / static_cast<double>(crop.height);
    ASSERT_GT(area, 0.075);
    ASSERT_GT(shape, 0.74);
    ASSERT_LT(shape, 1.35);
    mean_area += area / count;
  }
  // torchvision's get_params gives 0.433 here: uniform in 0.08..1 would be 0.54, but large areas
  // whose shape does not fit are drawn again.
  EXPECT_NEAR(mean_area, 0.433, 0.006);
}

TEST(RandomCrop, of_an_image_that_no_shape_fits_is_central) {
  RandomStream numbers = stream(0);
  const Rect tall = draw_resized_crop(10, 1000, {0.9, 1.0, 0.75, 4.0 / 3.0}, numbers);
  EXPECT_EQ(tall.width, 10);
  EXPECT_EQ(tall.height, 13);
  EXPECT_EQ(tall.y, (1000 - 13) / 2);
  const Rect wide = draw_resized_crop(1000, 10, {0.9, 1.0, 0.75, 4.0 / 3.0}, numbers);
  EXPECT_EQ(wide.width, 13);
  const Rect dot = draw_resized_crop(1, 1, {1e-9, 2e-9, 0.75, 4.0 / 3.0}, numbers);
  EXPECT_EQ(dot.width, 1);
  EXPECT_EQ(dot.height, 1);
}

TEST(RandomCrop, depends_on_the_stream_alone) {
  RandomStream a = stream(3), b = stream(3), c = stream(4);
  const Rect first = draw_resized_crop(500, 375, {}, a), again = draw_resized_crop(500, 375, {}, b),
             other = draw_resized_crop(500, 375, {}, c);
  EXPECT_EQ(first.x, again.x);
  EXPECT_EQ(first.width, again.width);
  EXPECT_TRUE(first.x != other.x || first.width != other.width);
}

TEST(RandomCrop, of_a_given_size_reaches_every_place) {
  std::set<std::pair<std::int64_t, std::int64_t>> places;
  for (std::uint64_t i = 0; i < 500; ++i) {
    RandomStream numbers = stream(i);
    const Rect crop = draw_crop(6, 5, 4, 3, numbers);
    places.insert({crop.x, crop.y});
  }
  EXPECT_EQ(places.size(), 9u);
}

TEST(RandomCrop, bad_ranges_are_errors) {
  EXPECT_TRUE(check(ResizedCropRange{}).ok());
  EXPECT_FALSE(check(ResizedCropRange{.min_area = 0}).ok());
  EXPECT_FALSE(check(ResizedCropRange{.min_area = 0.5, .max_area = 0.2}).ok());
  EXPECT_FALSE(check(ResizedCropRange{.min_ratio = std::nan("")}).ok());
}

TEST(Jitter, factors_stay_in_range_and_every_order_comes) {
  std::set<std::array<JitterKind, 3>> orders;
  for (std::uint64_t i = 0; i < 200; ++i) {
    RandomStream numbers = stream(i);
    const Jitter jitter = draw_jitter({0.4, 0.0, 2.0}, numbers);
    EXPECT_GE(jitter.factor[0], 0.6);
    EXPECT_LE(jitter.factor[0], 1.4);
    EXPECT_EQ(jitter.factor[1], 1.0);
    EXPECT_GE(jitter.factor[2], 0.0);
    EXPECT_LE(jitter.factor[2], 3.0);
    orders.insert(jitter.order);
  }
  EXPECT_EQ(orders.size(), 6u);
}

TEST(Jitter, changing_one_strength_leaves_the_other_factors) {
  RandomStream a = stream(5), b = stream(5);
  const Jitter one = draw_jitter({0.4, 0.4, 0.4}, a), two = draw_jitter({0.0, 0.4, 0.4}, b);
  EXPECT_EQ(one.factor[1], two.factor[1]);
  EXPECT_EQ(one.order, two.order);
}

TEST(Flip, comes_as_often_as_asked) {
  int flips = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    RandomStream numbers = stream(i);
    flips += draw_flip(0.25, numbers);
  }
  EXPECT_NEAR(flips, 2500, 150);
}

}  // namespace
}  // namespace penstock
