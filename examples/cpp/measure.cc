// What threads, prefetch and a cache buy in C++: a folder of JPEGs, written first, is read to
// batches of 224x224 in several ways. The best of three rounds in which all took turns.
//
//   example_measure [PICTURES]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "penstock/dataset.h"
#include "penstock/media.h"
#include "penstock/random.h"

namespace {

namespace fs = std::filesystem;
using penstock::Dataset;
using penstock::LoaderOptions;

// Pictures of 300x400 with some detail: a slope of colours and noise in blocks of 4x4.
bool make_folder(const fs::path& folder, int pictures) {
  constexpr int kHeight = 300, kWidth = 400;
  const penstock::RandomKey key(/*seed=*/0, /*epoch=*/0);
  std::vector<std::uint8_t> pixels(kHeight * kWidth * 3);
  fs::create_directories(folder);
  for (int i = 0; i < pictures; ++i) {
    penstock::RandomStream random(key, i);
    std::uint8_t noise[kHeight / 4][kWidth / 4];
    for (auto& row : noise) {
      for (auto& one : row) one = static_cast<std::uint8_t>(random.below(100));
    }
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        std::uint8_t* pixel = &pixels[(y * kWidth + x) * 3];
        pixel[0] = static_cast<std::uint8_t>(noise[y / 4][x / 4] + x * 150 / kWidth);
        pixel[1] = static_cast<std::uint8_t>(noise[y / 4][x / 4] + y * 150 / kHeight);
        pixel[2] = static_cast<std::uint8_t>(noise[y / 4][x / 4] + i % 150);
      }
    }
    const auto jpeg =
        penstock::encode_image({pixels.data(), kHeight, kWidth, 3, kWidth * 3}, {.quality = 90});
    if (!jpeg.ok()) return false;
    std::ofstream file(folder / (std::to_string(100'000 + i) + ".jpg"), std::ios::binary);
    file.write(reinterpret_cast<const char*>(jpeg->data()), std::streamsize(jpeg->size()));
  }
  return true;
}

// An epoch; `step` is what the loop does with batch number i. The pictures that came, 0: it failed.
std::size_t read(
    const Dataset& dataset, const LoaderOptions& options,
    const std::function<void(int)>& step = [](int) {}) {
  auto loader = dataset.loader(options);
  if (!loader.ok()) return 0;
  std::size_t rows = 0;
  for (int number = 0;; ++number) {
    const auto batch = loader->next();
    if (!batch.ok()) return 0;
    if (!*batch) return rows;
    rows += (*batch)->rows();
    step(number);
  }
}

struct Row {
  const char* name;
  std::function<std::size_t()> work;
  double seconds = 1e9, cpu = 1e9;  // of the best round
};

double cpu_seconds() {
  return double(std::clock()) / CLOCKS_PER_SEC;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

int main(int count, char** given) {
  const int pictures = count > 1 ? std::atoi(given[1]) : 48;
  const fs::path folder = fs::temp_directory_path() / "penstock-example-measure";
  fs::remove_all(folder);
  if (!make_folder(folder, pictures)) return 1;

  const auto plan = [](const Dataset& source) {
    return source.shuffle(7).decode_image("image",
                                          {.size = {{224, 224}}, .random_crop = true, .flip = 0.5});
  };
  const Dataset opened = Dataset::open({folder.string()});
  const Dataset files = plan(opened), kept = plan(opened.cache());
  const auto uneven = [](int number) {  // every eighth step is long
    std::this_thread::sleep_for(std::chrono::milliseconds(number % 8 == 7 ? 40 : 1));
  };
  std::vector<Row> rows = {
      {"1 thread", [&] { return read(files, {.batch = 16, .threads = 1}); }},
      {"2 threads", [&] { return read(files, {.batch = 16, .threads = 2}); }},
      {"and the files kept in memory", [&] { return read(kept, {.batch = 16, .threads = 2}); }},
      {"and float32, channels first",
       [&] {
         return read(files, {.batch = 16,
                             .threads = 2,
                             .channels_first = true,
                             .dtype = penstock::DType::float32});
       }},
      {"uneven steps, prefetch 1",
       [&] { return read(files, {.batch = 16, .threads = 2, .prefetch = 1}, uneven); }},
      {"uneven steps, prefetch 8",
       [&] { return read(files, {.batch = 16, .threads = 2, .prefetch = 8}, uneven); }},
  };
  bool good = true;
  for (int round = 0; round < 3; ++round) {
    for (Row& row : rows) {
      const double cpu = cpu_seconds(), begun = seconds_now();
      good = row.work() == std::size_t(pictures) && good;
      row.seconds = std::min(row.seconds, seconds_now() - begun);
      row.cpu = std::min(row.cpu, cpu_seconds() - cpu);
    }
  }
  std::printf("| | images/s | CPU s per 1,000 |\n|---|---|---|\n");
  for (const Row& row : rows) {
    std::printf("| %s | %.0f | %.3f |\n", row.name, pictures / row.seconds,
                1000 * row.cpu / pictures);
  }
  fs::remove_all(folder);
  return good ? 0 : 1;
}
