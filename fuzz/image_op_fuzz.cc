// Every transform: the first twelve bytes choose it, its arguments and the image's size; the rest
// is pixels.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "transform/image_op.h"

namespace {

using namespace penstock;

Result<ImageOp> chosen(const std::uint8_t* c) {
  const auto number = [&](int i) { return std::int64_t(c[i]) - 4; };  // a few are negative
  const Size size{number(4) / 4, number(5) / 4};
  const Filter filter = Filter(c[8] % 6);
  switch (c[0] % 17) {
    case 0:
      return resize_op(size, filter, {});
    case 1:
      return resize_op(size, filter,
                       Box{number(6) / 3.0, number(7) / 3.0, number(9) / 2.0, number(10) / 2.0});
    case 2:
      return resize_short_op(number(4) / 8, filter);
    case 3:
      return crop_op({number(6) / 4, number(7) / 4, number(9) / 4, number(10) / 4});
    case 4:
      return center_crop_op(size);
    case 5: {
      PadSpec spec{number(6) / 4, number(7) / 4, number(9) / 4, number(10) / 4};
      spec.mode = PadMode(c[8] % 3);
      return pad_op(spec);
    }
    case 6:
      return flip_op(c[4] & 1);
    case 7:
      return rotate90_op(int(number(4)));
    case 8:
      return c[5] & 1 ? convert_op(Colour(c[4] % 6), Colour(c[6] % 6))
                      : convert_op(Colour(c[4] % 6), {});
    case 9:
      return grayscale_op();
    case 10:
      return brightness_op(double(number(4)) / 16);
    case 11:
      return contrast_op(double(number(4)) / 16);
    case 12:
      return saturation_op(double(number(4)) / 16);
    case 13: {
      const std::vector<double> values(c[4] % 5, 0.5);
      constexpr DType types[] = {DType::uint8, DType::float32, DType::float16, DType::int8};
      return normalize_op(types[c[5] % 4], ImageLayout(c[6] % 2), values, values);
    }
    case 14:
      return random_resized_crop_op(size, {0.1, 1.0, 0.3, double(c[6]) / 32}, filter);
    case 15:
      return c[7] & 1 ? random_crop_op(size) : random_flip_op(double(c[4]) / 200, c[6] & 1);
    default:
      return color_jitter_op({double(number(4)) / 64, 0.5, double(c[6]) / 64});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 13) return 0;
  const Result<ImageOp> op = chosen(data);
  if (!op) return 0;
  const int channels = 1 + data[1] % 4;
  const std::int64_t width = 1 + data[2] % 60, height = 1 + data[3] % 40;
  const std::int64_t gap = data[11] % 4;
  // Exactly as large as the image, so that a sanitizer sees one byte too many.
  std::vector<std::uint8_t> pixels(
      static_cast<std::size_t>((height - 1) * (width * channels + gap) + width * channels));
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = data[12 + i % (size - 12)];
  const ConstImageView image{pixels.data(), height, width, channels, width * channels + gap};
  const auto result = op->result(image);
  if (!result) return 0;
  std::size_t bytes = size_of(result->type);
  for (const std::int64_t extent : result->shape) bytes *= static_cast<std::size_t>(extent);
  std::vector<std::uint8_t> out(bytes);
  RandomStream random(RandomKey(data[11], 0), data[10]);
  (void)op->apply(image, random, out.data());
  return 0;
}
