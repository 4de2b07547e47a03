// Images: whole decodes, and the fused random-resized crop to 224 x 224, one thread.
//
// The photographs are those in the folder named by PENSTOCK_BENCH_IMAGES; without it, two made from
// the tests' picture: 500 x 375 and 1920 x 1080. The peer is a full decode, then a resize.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "media/image/slot.h"
#include "penstock/media.h"
#include "penstock/random.h"
#include "transform/finish.h"
#include "transform/random_crop.h"
#include "transform/resample.h"

namespace penstock {
namespace {

using File = std::vector<std::byte>;

class Pixels final : public PixelTarget {
 public:
  Result<PixelMemory> place(const ImageShape& given) override {
    shape = given;
    bytes.resize(std::size_t(given.bytes()));
    return PixelMemory{bytes.data(), std::ptrdiff_t(given.row_bytes())};
  }
  ConstImageView view() const {
    return {bytes.data(), shape.height, shape.width, shape.channels,
            std::ptrdiff_t(shape.row_bytes())};
  }
  ImageShape shape;
  std::vector<std::uint8_t> bytes;
};

File read(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

File made(std::int64_t width, std::int64_t height, ImageFormat format) {
  const auto folder = std::filesystem::path("tests/data/images");
  CropResize plan;
  plan.out_width = width, plan.out_height = height, plan.filter = Filter::lanczos;
  Pixels pixels;
  if (!decode_crop_resize(read(folder / "420.jpg"), {}, plan, pixels)) return {};
  EncodeOptions options;
  options.format = format, options.quality = 92;
  auto file = encode_image(pixels.view(), options);
  return file ? *std::move(file) : File{};
}

std::vector<File> photographs(bool large) {
  std::vector<File> files;
  if (const char* folder = std::getenv("PENSTOCK_BENCH_IMAGES"); folder && !large) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      files.push_back(read(entry.path()));
    }
  }
  if (files.empty()) {
    files.push_back(large ? made(1920, 1080, ImageFormat::jpeg)
                          : made(500, 375, ImageFormat::jpeg));
  }
  return files;
}

class RandomCrop final : public CropPlanner {
 public:
  Result<CropResize> plan(const ImageInfo& info) override {
    RandomStream stream(RandomKey(0, 0), position++, 0);
    CropResize plan;
    plan.crop = draw_resized_crop(info.width, info.height, {}, stream);
    plan.mirror = stream.bernoulli(0.5);
    plan.out_width = plan.out_height = 224;
    plan.exact = exact;
    return plan;
  }
  std::uint64_t position = 0;
  bool exact = true;
};

void random_crop(benchmark::State& state, bool large, bool exact, DType type, ImageLayout layout) {
  const auto files = photographs(large);
  RandomCrop planner;
  planner.exact = exact;
  FinishSpec finish;
  finish.height = finish.width = 224;
  finish.type = type, finish.layout = layout;
  std::vector<float> slot(224 * 224 * 3);
  std::size_t i = 0;
  for (auto _ : state) {
    const auto bytes = media::as_bytes(files[i++ % files.size()]);
    if (!media::decode_into_slot(bytes, {}, planner, finish, slot.data())) {
      state.SkipWithError("a photograph does not decode");
      break;
    }
  }
  state.SetItemsProcessed(state.iterations());
}

void decode_then_resize(benchmark::State& state) {
  const auto files = photographs(false);
  RandomCrop planner;
  std::vector<std::uint8_t> slot(224 * 224 * 3);
  const ImageView out{slot.data(), 224, 224, 3, 224 * 3};
  Pixels pixels;
  std::size_t i = 0;
  for (auto _ : state) {
    if (!decode_image(files[i++ % files.size()], {}, pixels)) break;
    const ConstImageView view = pixels.view();
    const auto plan = planner.plan({ImageFormat::jpeg, view.width, view.height, 3, 8, 1});
    const Rect crop = plan->crop;
    const ConstImageView part{view.row(crop.y) + crop.x * 3, crop.height, crop.width, 3,
                              view.row_bytes};
    if (!resize(part, Rect{0, 0, crop.width, crop.height}.box(), out, Filter::bilinear)) break;
  }
  state.SetItemsProcessed(state.iterations());
}

void whole(benchmark::State& state, ImageFormat format) {
  const File file = made(500, 375, format);
  Pixels pixels;
  for (auto _ : state) {
    if (!decode_image(file, {}, pixels)) break;
  }
  state.SetItemsProcessed(state.iterations());
}

constexpr auto kBytes = DType::uint8;
constexpr auto kHwc = ImageLayout::hwc;

BENCHMARK_CAPTURE(random_crop, exact, false, true, kBytes, kHwc);
BENCHMARK_CAPTURE(random_crop, inexact, false, false, kBytes, kHwc);
BENCHMARK_CAPTURE(random_crop, inexact_float_chw, false, false, DType::float32, ImageLayout::chw);
BENCHMARK(decode_then_resize);
BENCHMARK_CAPTURE(random_crop, exact_1920x1080, true, true, kBytes, kHwc);
BENCHMARK_CAPTURE(random_crop, inexact_1920x1080, true, false, kBytes, kHwc);
BENCHMARK_CAPTURE(whole, jpeg, ImageFormat::jpeg);
BENCHMARK_CAPTURE(whole, png, ImageFormat::png);
BENCHMARK_CAPTURE(whole, webp, ImageFormat::webp);

}  // namespace
}  // namespace penstock
