// Resize: Pillow's pixels, on every instruction set, whole or row by row, and errors that name the
// argument.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "pictures.h"
#include "transform/resample.h"
#include "transform/resample_kernels.h"

namespace penstock {
namespace {

std::string describe(const goldens::ResizeCase& c) {
  return std::to_string(c.width) + "x" + std::to_string(c.height) + "x" +
         std::to_string(c.channels) + " to " + std::to_string(c.out_width) + "x" +
         std::to_string(c.out_height) + " filter " + std::to_string(static_cast<int>(c.filter)) +
         (c.premultiplied ? " premultiplied" : "");
}

TEST(Resize, equals_pillow_on_every_instruction_set) {
  std::set<std::string> targets;
  for_each_target([&] {
    targets.insert(resample_target());
    for (const auto& c : goldens::resizes) {
      const Picture source = picture(c.width, c.height, c.channels);
      Picture out(c.out_width, c.out_height, c.channels);
      const Status done =
          c.premultiplied
              ? resize_premultiplied(std::as_const(source).view(), c.box, out.view(), c.filter)
              : resize(std::as_const(source).view(), c.box, out.view(), c.filter);
      ASSERT_TRUE(done.ok()) << describe(c);
      ASSERT_EQ(fnv(out.bytes), c.hash) << describe(c) << " on " << resample_target();
    }
  });
  // Every x86 CPU of today has two and more; on ARM NEON stands alone.
  EXPECT_GE(targets.size(), HWY_ARCH_X86 ? 2u : 1u);
}

TEST(Resize, equals_pillow_on_a_ramp) {
  Picture ramp(4, 4, 1);
  for (std::size_t i = 0; i < 16; ++i) ramp.bytes[i] = static_cast<std::uint8_t>(i * 16);
  Picture out(3, 2, 1);
  ASSERT_TRUE(resize(ramp.view(), ramp.whole(), out.view(), Filter::bilinear).ok());
  EXPECT_EQ(out.bytes, std::vector<std::uint8_t>(std::begin(goldens::ramp_bilinear),
                                                 std::end(goldens::ramp_bilinear)));
  ASSERT_TRUE(resize(ramp.view(), ramp.whole(), out.view(), Filter::lanczos).ok());
  EXPECT_EQ(out.bytes, std::vector<std::uint8_t>(std::begin(goldens::ramp_lanczos),
                                                 std::end(goldens::ramp_lanczos)));
}

// Two planes at once, and each alone.
TEST(Resize, planes_are_resized_as_if_alone) {
  class Rows final : public RowSink {
   public:
    explicit Rows(std::size_t row_bytes) : row_bytes_(row_bytes) {}
    void take(std::int64_t, const std::uint8_t* row) override {
      bytes.insert(bytes.end(), row, row + row_bytes_);
    }
    std::vector<std::uint8_t> bytes;

   private:
    std::size_t row_bytes_;
  };
  const Picture one = picture(57, 43, 1);
  Picture two = picture(57, 43, 1);
  for (auto& byte : two.bytes) byte = static_cast<std::uint8_t>(byte * 5 + 3);
  for_each_target([&] {
    for (const auto& [width, height] :
         {std::pair{20, 31}, {57, 20}, {30, 43}, {57, 43}, {55, 3}, {90, 80}}) {
      for (const Filter filter : {Filter::nearest, Filter::bilinear, Filter::lanczos}) {
        ResizeSpec spec;
        spec.src_width = 57, spec.src_height = 43, spec.channels = 1;
        spec.box = spec.whole();
        spec.out_width = width, spec.out_height = height;
        spec.filter = filter;
        spec.mirror = width == 30;
        const auto row_bytes = static_cast<std::size_t>(width);
        Rows first(row_bytes), second(row_bytes), both(2 * row_bytes);
        const auto make = [&](const Picture& a, const Picture& b, Rows& rows) {
          Resampler resampler;
          ASSERT_TRUE(resampler.begin(spec, rows).ok());
          const std::int64_t col = resampler.first_col();
          for (std::int64_t y = resampler.first_row(); y <= resampler.last_row(); ++y) {
            const std::uint8_t* planes[2] = {a.bytes.data() + y * 57 + col,
                                             b.bytes.data() + y * 57 + col};
            resampler.push_rows(planes);
          }
        };
        make(one, one, first);
        make(two, two, second);
        spec.planes = 2;
        make(one, two, both);
        ASSERT_EQ(both.bytes.size(), 2 * first.bytes.size());
        for (std::size_t i = 0; i < both.bytes.size(); ++i) {
          const std::size_t y = i / (2 * row_bytes), x = i % (2 * row_bytes);
          const Rows& alone = x < row_bytes ? first : second;
          ASSERT_EQ(both.bytes[i], alone.bytes[y * row_bytes + x % row_bytes]);
        }
      }
    }
  });
}

TEST(Resize, of_the_same_size_is_a_copy) {
  const Picture source = picture(37, 21, 3);
  for (const Filter filter : {Filter::nearest, Filter::box, Filter::bilinear, Filter::hamming,
                              Filter::bicubic, Filter::lanczos}) {
    Picture out(37, 21, 3);
    ASSERT_TRUE(resize(source.view(), source.whole(), out.view(), filter).ok());
    EXPECT_EQ(out.bytes, source.bytes);
  }
}

TEST(Resize, keeps_only_the_part_that_is_asked_for_and_mirrors_it) {
  for_each_target([] {
    for (const int channels : {1, 2, 3, 4}) {
      const Picture source = picture(131, 97, channels);
      for (const Filter filter : {Filter::nearest, Filter::bilinear, Filter::lanczos}) {
        Picture all(80, 60, channels);
        ASSERT_TRUE(resize(source.view(), source.whole(), all.view(), filter).ok());
        ResizeSpec spec{.src_width = 131, .src_height = 97, .channels = channels};
        spec.box = spec.whole();
        spec.out_width = 80;
        spec.out_height = 60;
        spec.filter = filter;
        spec.keep = {7, 11, 49, 38};
        spec.mirror = true;
        Picture part(49, 38, channels);
        Resampler resampler;
        ASSERT_TRUE(resize(resampler, source.view(), spec, part.view()).ok());
        for (std::int64_t y = 0; y < 38; ++y)
          for (std::int64_t x = 0; x < 49; ++x)
            for (int c = 0; c < channels; ++c)
              ASSERT_EQ(part.view().row(y)[x * channels + c],
                        all.view().row(y + 11)[(7 + 48 - x) * channels + c])
                  << resample_target() << " " << channels << " " << x << " " << y;
      }
    }
  });
}

TEST(Resize, pillow_before_13_went_over_columns_first) {
  const Picture source = picture(40, 200, 3);
  ResizeSpec spec{.src_width = 40, .src_height = 200, .channels = 3};
  spec.box = spec.whole();
  spec.out_width = 60;
  spec.out_height = 20;
  Picture now(60, 20, 3), before(60, 20, 3), columns(60, 200, 3), both(60, 20, 3);
  Resampler resampler;
  ASSERT_TRUE(resize(resampler, source.view(), spec, now.view()).ok());
  spec.order = PassOrder::horizontal_first;
  ASSERT_TRUE(resize(resampler, source.view(), spec, before.view()).ok());
  ASSERT_TRUE(resize(source.view(), source.whole(), columns.view(), Filter::bilinear).ok());
  ASSERT_TRUE(resize(columns.view(), columns.whole(), both.view(), Filter::bilinear).ok());
  EXPECT_EQ(before.bytes, both.bytes);
  EXPECT_NE(now.bytes, before.bytes);
}

// Collects rows and checks that they come in order.
class Collect final : public RowSink {
 public:
  explicit Collect(std::int64_t row_bytes) : row_bytes_(row_bytes) {}
  void take(std::int64_t y, const std::uint8_t* row) override {
    EXPECT_EQ(y, rows_++);
    bytes.insert(bytes.end(), row, row + row_bytes_);
  }
  std::vector<std::uint8_t> bytes;

 private:
  std::int64_t row_bytes_;
  std::int64_t rows_ = 0;
};

TEST(Resampler, needs_only_the_rows_and_columns_it_names) {
  const Picture source = picture(200, 150, 3);
  for_each_target([&] {
    ResizeSpec spec{.src_width = 200, .src_height = 150, .channels = 3};
    spec.box = {60.5, 40.25, 120, 90};
    spec.out_width = 50;
    spec.out_height = 40;
    spec.filter = Filter::bicubic;
    Picture whole(50, 40, 3);
    ASSERT_TRUE(resize(source.view(), spec.box, whole.view(), spec.filter).ok());

    Collect sink(150);
    Resampler resampler;
    ASSERT_TRUE(resampler.begin(spec, sink).ok());
    EXPECT_GT(resampler.first_row(), 30);
    EXPECT_LT(resampler.last_row(), 100);
    EXPECT_GT(resampler.first_col(), 50);
    EXPECT_LT(resampler.last_col(), 130);
    const std::int64_t columns = resampler.last_col() - resampler.first_col() + 1;
    for (std::int64_t y = resampler.first_row(); y <= resampler.last_row(); ++y) {
      EXPECT_FALSE(resampler.done());
      // A row of exactly the promised size, gone after the call.
      const std::uint8_t* from = source.view().row(y) + resampler.first_col() * 3;
      const auto row = std::make_unique<std::vector<std::uint8_t>>(from, from + columns * 3);
      resampler.push_row(row->data());
    }
    EXPECT_TRUE(resampler.done());
    EXPECT_EQ(sink.bytes, whole.bytes);
    resampler.push_row(nullptr);  // more rows are ignored
  });
}

TEST(Resampler, is_reused_for_other_sizes_filters_and_channels) {
  Resampler resampler;
  for (const auto& c : goldens::resizes) {
    if (c.premultiplied) continue;
    const Picture source = picture(c.width, c.height, c.channels);
    Picture out(c.out_width, c.out_height, c.channels);
    ResizeSpec spec{.src_width = c.width, .src_height = c.height, .channels = c.channels};
    spec.box = c.box;
    spec.out_width = c.out_width;
    spec.out_height = c.out_height;
    spec.filter = c.filter;
    ASSERT_TRUE(resize(resampler, source.view(), spec, out.view()).ok());
    ASSERT_EQ(fnv(out.bytes), c.hash) << describe(c);
  }
}

TEST(Resize, errors_name_the_argument) {
  Picture source = picture(10, 8, 3);
  Picture out(4, 4, 3);
  const auto message = [&](Box box) {
    const Status status = resize(source.view(), box, out.view(), Filter::bilinear);
    EXPECT_FALSE(status.ok());
    return status.ok() ? std::string() : status.error().message();
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(message({-1, 0, 10, 8}).find("box"), std::string::npos);
  EXPECT_NE(message({0, 0, 10.5, 8}).find("outside the image of 10 x 8"), std::string::npos);
  EXPECT_NE(message({0, 0, nan, 8}).find("finite"), std::string::npos);
  EXPECT_NE(message({0, 0, HUGE_VAL, 8}).find("finite"), std::string::npos);
  EXPECT_NE(message({5, 0, 5, 8}).find("empty"), std::string::npos);
  EXPECT_NE(message({6, 0, 5, 8}).find("empty"), std::string::npos);

  Collect sink(1);
  Resampler resampler;
  const auto begin_message = [&](auto change) {
    ResizeSpec spec{.src_width = 10, .src_height = 8, .channels = 3};
    spec.box = spec.whole();
    spec.out_width = spec.out_height = 4;
    change(spec);
    const Status status = resampler.begin(spec, sink);
    EXPECT_FALSE(status.ok());
    return status.ok() ? std::string() : status.error().message();
  };
  EXPECT_NE(begin_message([](auto& s) { s.out_width = 0; }).find("out_width"), std::string::npos);
  EXPECT_NE(begin_message([](auto& s) { s.out_height = -3; }).find("out_height"),
            std::string::npos);
  EXPECT_NE(begin_message([](auto& s) { s.src_width = INT64_MAX; }).find("src_width"),
            std::string::npos);
  EXPECT_NE(begin_message([](auto& s) { s.channels = 5; }).find("channels"), std::string::npos);
  EXPECT_NE(begin_message([](auto& s) { s.keep = {1, 0, 4, 4}; }).find("keep"), std::string::npos);
  EXPECT_NE(begin_message([](auto& s) { s.filter = static_cast<Filter>(9); }).find("filter"),
            std::string::npos);

  Picture grey(4, 4, 1);
  EXPECT_NE(resize(source.view(), source.whole(), grey.view(), Filter::box)
                .error()
                .message()
                .find("out has 1 channels"),
            std::string::npos);
  EXPECT_FALSE(resize_premultiplied(source.view(), source.whole(), out.view(), Filter::box).ok());
}

}  // namespace
}  // namespace penstock
