// Transforms alone, on one thread, at the sizes training uses.
//
// The pixels are noise: no step here depends on their values. Peers (Pillow) are measured from
// Python, in the same run, by benchmarks/images.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "transform/resample.h"
#include "transform/resample_kernels.h"

namespace penstock {
namespace {

std::vector<std::uint8_t> noise(std::int64_t bytes) {
  std::mt19937 random(7);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(bytes));
  for (auto& p : pixels) p = static_cast<std::uint8_t>(random());
  return pixels;
}

void BM_resize(benchmark::State& state, Filter filter, int channels) {
  const std::int64_t w = state.range(0), h = state.range(1), ow = state.range(2),
                     oh = state.range(3);
  const auto pixels = noise(w * h * channels);
  std::vector<std::uint8_t> result(static_cast<std::size_t>(ow * oh * channels));
  const ConstImageView source{pixels.data(), h, w, channels, w * channels};
  const ImageView out{result.data(), oh, ow, channels, ow * channels};
  for (auto _ : state) {
    if (!resize(source, {0, 0, double(w), double(h)}, out, filter)) state.SkipWithError("failed");
    benchmark::ClobberMemory();
  }
  state.SetLabel(resample_target());
}
BENCHMARK_CAPTURE(BM_resize, bilinear_rgb, Filter::bilinear, 3)
    ->Args({300, 280, 224, 224})
    ->Args({150, 150, 224, 224})
    ->Args({500, 375, 341, 256})
    ->Args({1920, 1080, 224, 224});
BENCHMARK_CAPTURE(BM_resize, bicubic_rgb, Filter::bicubic, 3)
    ->Args({500, 375, 224, 224})
    ->Args({300, 280, 224, 224});
BENCHMARK_CAPTURE(BM_resize, lanczos_rgb, Filter::lanczos, 3)->Args({500, 375, 224, 224});
BENCHMARK_CAPTURE(BM_resize, bilinear_l, Filter::bilinear, 1)->Args({300, 280, 224, 224});
BENCHMARK_CAPTURE(BM_resize, bilinear_rgba, Filter::bilinear, 4)->Args({300, 280, 224, 224});

}  // namespace
}  // namespace penstock
