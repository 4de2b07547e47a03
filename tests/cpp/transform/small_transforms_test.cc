// Crop, pad, orientation, colour and enhancement.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "pictures.h"
#include "transform/colour.h"
#include "transform/crop.h"
#include "transform/enhance.h"
#include "transform/orientation.h"
#include "transform/pad.h"

namespace penstock {
namespace {

bool says(const Status& status, const char* word) {
  return !status.ok() && status.error().message().find(word) != std::string::npos;
}

TEST(Crop, is_a_view_of_the_same_pixels) {
  Picture source = picture(20, 10, 3);
  const auto part = crop(source.view(), {4, 3, 5, 2});
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->data, source.bytes.data() + (3 * 20 + 4) * 3);
  EXPECT_EQ(part->width, 5);
  EXPECT_EQ(part->height, 2);
  Picture copy(5, 2, 3);
  ASSERT_TRUE(copy_image(*part, copy.view()).ok());
  EXPECT_EQ(copy.bytes[3 * 5], source.bytes[(4 * 20 + 4) * 3]);
}

TEST(Crop, outside_the_image_is_an_error) {
  Picture source = picture(20, 10, 3);
  EXPECT_FALSE(crop(source.view(), {16, 0, 5, 2}).ok());
  EXPECT_FALSE(crop(source.view(), {-1, 0, 5, 2}).ok());
  EXPECT_FALSE(crop(source.view(), {0, 0, 0, 2}).ok());
  EXPECT_FALSE(crop(source.view(), {1, 1, INT64_MAX, INT64_MAX}).ok());
}

TEST(Crop, the_centre_is_torchvisions) {
  const auto even = centre(341, 256, 224, 224);
  ASSERT_TRUE(even.ok());
  EXPECT_EQ(even->x, 58);  // 58.5 to even
  EXPECT_EQ(even->y, 16);
  EXPECT_EQ(centre(227, 224, 224, 224)->x, 2);  // 1.5 to even
  EXPECT_FALSE(centre(200, 256, 224, 224).ok());
}

TEST(Pad, fills_repeats_or_reflects) {
  Picture row(3, 1, 1);
  row.bytes = {1, 2, 3};
  Picture out(7, 1, 1);
  PadSpec spec{.left = 2, .right = 2};
  spec.fill = {9, 0, 0, 0};
  ASSERT_TRUE(pad(row.view(), spec, out.view()).ok());
  EXPECT_EQ(out.bytes, (std::vector<std::uint8_t>{9, 9, 1, 2, 3, 9, 9}));
  spec.mode = PadMode::edge;
  ASSERT_TRUE(pad(row.view(), spec, out.view()).ok());
  EXPECT_EQ(out.bytes, (std::vector<std::uint8_t>{1, 1, 1, 2, 3, 3, 3}));
  spec.mode = PadMode::reflect;
  ASSERT_TRUE(pad(row.view(), spec, out.view()).ok());
  EXPECT_EQ(out.bytes, (std::vector<std::uint8_t>{3, 2, 1, 2, 3, 2, 1}));
}

TEST(Pad, works_on_rows_as_on_columns) {
  Picture column(1, 3, 3);
  for (std::size_t i = 0; i < 9; ++i) column.bytes[i] = static_cast<std::uint8_t>(i);
  Picture out(1, 6, 3);
  PadSpec spec{.top = 1, .bottom = 2};
  spec.mode = PadMode::reflect;
  ASSERT_TRUE(pad(column.view(), spec, out.view()).ok());
  EXPECT_EQ(out.bytes,
            (std::vector<std::uint8_t>{3, 4, 5, 0, 1, 2, 3, 4, 5, 6, 7, 8, 3, 4, 5, 0, 1, 2}));
}

TEST(Pad, errors_name_the_side) {
  Picture row = picture(3, 1, 1);
  Picture out(6, 1, 1);
  EXPECT_TRUE(says(pad(row.view(), {.left = -1}, out.view()), "left"));
  PadSpec spec{.right = 3};
  spec.mode = PadMode::reflect;
  EXPECT_TRUE(says(pad(row.view(), spec, out.view()), "right"));
  EXPECT_TRUE(says(pad(row.view(), {.left = 1}, out.view()), "out is 6 x 1"));
}

TEST(Orientation, equals_pillows_exif_transpose) {
  const Picture source = picture(61, 37, 3);
  for (const auto& c : goldens::orientations) {
    Picture out = c.orientation >= 5 ? Picture(37, 61, 3) : Picture(61, 37, 3);
    ASSERT_TRUE(orient(source.view(), c.orientation, out.view()).ok());
    EXPECT_EQ(fnv(out.bytes), c.hash) << c.orientation;
  }
  Picture out(61, 37, 3);
  EXPECT_TRUE(says(orient(source.view(), 0, out.view()), "orientation"));
  EXPECT_TRUE(says(orient(source.view(), 6, out.view()), "out is"));
}

TEST(Orientation, four_quarter_turns_and_two_flips_change_nothing) {
  for (const int channels : {1, 2, 3, 4}) {
    const Picture source = picture(33, 18, channels);
    Picture a(18, 33, channels), b(33, 18, channels), c(18, 33, channels), d(33, 18, channels);
    ASSERT_TRUE(rotate90(source.view(), 1, a.view()).ok());
    // Against the clock: the top right corner comes to the top left.
    EXPECT_EQ(a.bytes[0], source.bytes[static_cast<std::size_t>(32 * channels)]);
    ASSERT_TRUE(rotate90(a.view(), -3, b.view()).ok());
    ASSERT_TRUE(rotate90(b.view(), 5, c.view()).ok());
    ASSERT_TRUE(rotate90(c.view(), 1, d.view()).ok());
    EXPECT_EQ(d.bytes, source.bytes);
    ASSERT_TRUE(flip_horizontal(source.view(), b.view()).ok());
    ASSERT_TRUE(flip_horizontal(b.view(), d.view()).ok());
    EXPECT_EQ(d.bytes, source.bytes);
    ASSERT_TRUE(flip_vertical(source.view(), b.view()).ok());
    EXPECT_EQ(b.bytes[0], source.bytes[static_cast<std::size_t>(17 * 33 * channels)]);
  }
}

TEST(Orientation, a_mirrored_row_is_read_from_its_end_at_any_length) {
  for_each_target([] {
    for (const int channels : {1, 2, 3, 4}) {
      for (std::int64_t width = 1; width < 70; ++width) {
        const Picture source = picture(width, 2, channels);
        Picture out(width, 2, channels), expected(width, 2, channels);
        for (std::int64_t i = 0; i < 2 * width; ++i) {
          const std::int64_t from = i / width * width + width - 1 - i % width;
          for (int c = 0; c < channels; ++c)
            expected.bytes[std::size_t(i * channels + c)] =
                source.bytes[std::size_t(from * channels + c)];
        }
        ASSERT_TRUE(flip_horizontal(source.view(), out.view()).ok());
        ASSERT_EQ(out.bytes, expected.bytes) << width << " x " << channels;
      }
    }
  });
}

TEST(Colour, equals_pillows_convert) {
  for_each_target([] {
    for (const auto& c : goldens::colours) {
      const Picture source = picture(61, 37, channels_of(c.from));
      Picture out(61, 37, channels_of(c.to));
      ASSERT_TRUE(convert_colour(source.view(), c.from, c.to, out.view()).ok());
      EXPECT_EQ(fnv(out.bytes), c.hash) << int(c.from) << " to " << int(c.to);
    }
  });
}

TEST(Colour, bgr_there_and_back_and_grey_in_place) {
  const Picture source = picture(61, 37, 3);
  Picture bgr(61, 37, 3), back(61, 37, 3), grey(61, 37, 1);
  ASSERT_TRUE(convert_colour(source.view(), Colour::rgb, Colour::bgr, bgr.view()).ok());
  EXPECT_EQ(bgr.bytes[0], source.bytes[2]);
  ASSERT_TRUE(convert_colour(bgr.view(), Colour::bgr, Colour::rgb, back.view()).ok());
  EXPECT_EQ(back.bytes, source.bytes);
  ASSERT_TRUE(convert_colour(source.view(), Colour::rgb, Colour::l, grey.view()).ok());
  ASSERT_TRUE(grayscale(back.view()).ok());
  for (std::size_t i = 0; i < grey.bytes.size(); ++i)
    ASSERT_EQ(back.bytes[i * 3 + 1], grey.bytes[i]);
  EXPECT_TRUE(says(convert_colour(source.view(), Colour::cmyk, Colour::rgb, bgr.view()),
                   "source has 3 channels"));
}

TEST(Enhance, equals_pillows_image_enhance) {
  for_each_target([] {
    for (const auto& c : goldens::enhancements) {
      Picture image = picture(61, 37, c.channels);
      const Status done = c.kind == 0   ? adjust_brightness(image.view(), c.factor)
                          : c.kind == 1 ? adjust_contrast(image.view(), c.factor)
                                        : adjust_saturation(image.view(), c.factor);
      ASSERT_TRUE(done.ok());
      EXPECT_EQ(fnv(image.bytes), c.hash) << c.channels << " " << c.kind << " " << c.factor;
    }
  });
  Picture image = picture(4, 4, 3);
  EXPECT_TRUE(says(adjust_brightness(image.view(), HUGE_VAL), "factor"));
}

}  // namespace
}  // namespace penstock
