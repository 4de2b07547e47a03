// Transforms as values: they say what they will make, make it, and draw only from their stream.
#include "transform/image_op.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "pictures.h"
#include "transform/enhance.h"
#include "transform/orientation.h"
#include "transform/resample.h"

namespace penstock {
namespace {

using Bytes = std::vector<std::uint8_t>;

ImageOp must(Result<ImageOp> op) {
  EXPECT_TRUE(op.ok()) << op.error().to_string();
  return *std::move(op);
}

Bytes made(const ImageOp& op, const Picture& source, Dims shape, std::uint64_t position = 0) {
  const auto result = op.result(source.view());
  EXPECT_TRUE(result.ok()) << op.name;
  if (!result.ok()) return {};
  EXPECT_EQ(result->shape, shape) << op.name;
  std::size_t bytes = size_of(result->type);
  for (const std::int64_t extent : result->shape) bytes *= static_cast<std::size_t>(extent);
  Bytes out(bytes, 0xA5);
  RandomStream random(RandomKey(1, 2), position);
  const Status done = op.apply(source.view(), random, out.data());
  EXPECT_TRUE(done.ok()) << op.name;
  return out;
}

TEST(ImageOp, does_what_its_function_does) {
  const Picture source = picture(61, 37, 3);
  Picture out(20, 10, 3);
  ASSERT_TRUE(resize(source.view(), {0, 0, 61, 37}, out.view(), Filter::bicubic).ok());
  EXPECT_EQ(made(must(resize_op({10, 20}, Filter::bicubic, {})), source, {10, 20, 3}), out.bytes);
  ASSERT_TRUE(resize(source.view(), {1.5, 2, 30, 30.25}, out.view(), Filter::box).ok());
  EXPECT_EQ(
      made(must(resize_op({10, 20}, Filter::box, Box{1.5, 2, 30, 30.25})), source, {10, 20, 3}),
      out.bytes);
  Picture turned(37, 61, 3);
  ASSERT_TRUE(rotate90(source.view(), -1, turned.view()).ok());
  EXPECT_EQ(made(rotate90_op(-1), source, {61, 37, 3}), turned.bytes);
  Picture bright = source;
  ASSERT_TRUE(adjust_brightness(bright.view(), 1.5).ok());
  EXPECT_EQ(made(must(brightness_op(1.5)), source, {37, 61, 3}), bright.bytes);
  EXPECT_EQ(made(must(pad_op({.left = 1, .bottom = 2})), source, {39, 62, 3}).size(), 39 * 62 * 3);
  EXPECT_EQ(made(must(resize_short_op(24, Filter::bilinear)), source, {24, 39, 3}).size(),
            24 * 39 * 3);
}

TEST(ImageOp, one_channel_has_two_dimensions_until_it_is_normalised) {
  const Picture grey = picture(9, 5, 1);
  EXPECT_EQ(made(flip_op(false), grey, {5, 9}).size(), 45);
  EXPECT_EQ(made(must(convert_op(Colour::l, {})), picture(9, 5, 3), {5, 9}).size(), 45);
  EXPECT_EQ(made(must(convert_op(Colour::rgb, {})), grey, {5, 9, 3}).size(), 135);
  const ImageOp normal = must(normalize_op(DType::float32, ImageLayout::chw, {}, {}));
  EXPECT_EQ(made(normal, grey, {1, 5, 9}).size(), 45 * 4);
}

TEST(ImageOp, what_can_never_work_is_refused_when_it_is_made) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(resize_op({0, 5}, Filter::box, {}).ok());
  EXPECT_FALSE(resize_short_op(-1, Filter::box).ok());
  EXPECT_FALSE(resize_short_op(INT64_MAX, Filter::box).ok());
  EXPECT_FALSE(crop_op({-1, 0, 5, 5}).ok());
  EXPECT_FALSE(crop_op({0, 0, 5, 0}).ok());
  EXPECT_FALSE(center_crop_op({5, -5}).ok());
  EXPECT_FALSE(pad_op({.right = -1}).ok());
  EXPECT_FALSE(convert_op(Colour::cmyk, {}).ok());
  EXPECT_FALSE(contrast_op(nan).ok());
  EXPECT_FALSE(normalize_op(DType::int32, ImageLayout::hwc, {}, {}).ok());
  EXPECT_FALSE(normalize_op(DType::float32, ImageLayout::hwc, {1, 2, 3}, {1, 2}).ok());
  EXPECT_FALSE(normalize_op(DType::float32, ImageLayout::hwc, {1}, {0}).ok());
  EXPECT_FALSE(random_resized_crop_op({5, 5}, {.min_area = -1}, Filter::box).ok());
  EXPECT_FALSE(random_crop_op({0, 0}).ok());
  EXPECT_FALSE(random_flip_op(1.5, false).ok());
  EXPECT_FALSE(random_flip_op(nan, false).ok());
  EXPECT_FALSE(color_jitter_op({0.5, -0.1, 0}).ok());
}

TEST(ImageOp, what_does_not_fit_the_image_is_refused_before_anything_is_written) {
  const Picture source = picture(20, 10, 3);
  for (const auto& op : {must(crop_op({16, 0, 5, 5})), must(center_crop_op({11, 5})),
                         must(random_crop_op({5, 21})), must(convert_op(Colour::l, Colour::cmyk)),
                         must(normalize_op(DType::float32, ImageLayout::hwc, {0.5, 0.5}, {1}))}) {
    EXPECT_FALSE(op.result(source.view()).ok()) << op.name;
    RandomStream random(RandomKey(0, 0), 0);
    Bytes out(1000, 0xA5);
    EXPECT_FALSE(op.apply(source.view(), random, out.data()).ok()) << op.name;
    EXPECT_EQ(out, Bytes(1000, 0xA5)) << op.name;
  }
}

TEST(ImageOp, random_ops_depend_on_their_stream_alone) {
  const Picture source = picture(61, 37, 3);
  const ImageOp ops[] = {must(random_resized_crop_op({16, 16}, {}, Filter::bilinear)),
                         must(random_crop_op({16, 16})), must(random_flip_op(0.5, false)),
                         must(random_flip_op(0.5, true)), must(color_jitter_op({0.4, 0.4, 0.4}))};
  for (const ImageOp& op : ops) {
    EXPECT_TRUE(op.random);
    const Dims shape = op.result(source.view())->shape;
    std::set<Bytes> results;
    for (std::uint64_t position = 0; position < 20; ++position) {
      const Bytes once = made(op, source, shape, position);
      EXPECT_EQ(once, made(op, source, shape, position));
      results.insert(once);
    }
    EXPECT_GE(results.size(), op.name == "random_flip" ? 2u : 15u) << op.name;
  }
}

TEST(ImageOp, a_random_crop_is_the_drawn_rectangle) {
  const Picture source = picture(61, 37, 3);
  RandomStream random(RandomKey(1, 2), 7);
  const Rect rect = draw_resized_crop(61, 37, {}, random);
  const auto part = crop(source.view(), rect);
  Picture out(12, 8, 3);
  ASSERT_TRUE(
      resize(*part, {0, 0, double(rect.width), double(rect.height)}, out.view(), Filter::bilinear)
          .ok());
  EXPECT_EQ(
      made(must(random_resized_crop_op({8, 12}, {}, Filter::bilinear)), source, {8, 12, 3}, 7),
      out.bytes);
}

}  // namespace
}  // namespace penstock
