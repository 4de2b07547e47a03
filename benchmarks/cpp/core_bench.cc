// What core costs: buffers (goal: under 60 ns for allocate and free, warm), permutations (goal: 20
// ns an index or less), random numbers.
#include <benchmark/benchmark.h>
#include <hwy/targets.h>

#include <cstring>
#include <string>
#include <vector>

#include "penstock/buffer.h"
#include "penstock/permutation.h"
#include "penstock/random.h"

namespace penstock {
namespace {

void pool_allocate_and_free(benchmark::State& state) {
  static BufferPool pool(std::size_t{1} << 30);
  const auto size = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    auto buffer = pool.allocate(size);
    benchmark::DoNotOptimize(buffer->data());
  }
}
BENCHMARK(pool_allocate_and_free)->Arg(4096)->Arg(38 << 20)->ThreadRange(1, 2)->UseRealTime();

void pool_allocate_and_free_with_listener(benchmark::State& state) {
  BufferPool pool(std::size_t{1} << 30);
  std::atomic<int> woken{0};
  auto listener = pool.on_room([&woken] { woken.store(1, std::memory_order_relaxed); });
  for (auto _ : state) {
    auto buffer = pool.allocate(4096);
    benchmark::DoNotOptimize(buffer->data());
  }
}
BENCHMARK(pool_allocate_and_free_with_listener);

void malloc_and_free(benchmark::State& state) {  // the peer
  const auto size = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    void* memory = std::malloc(size);
    benchmark::DoNotOptimize(memory);
    std::free(memory);
  }
}
BENCHMARK(malloc_and_free)->Arg(4096)->Arg(38 << 20);

void reserve_allocate_and_free(benchmark::State& state) {
  BufferPool pool(std::size_t{1} << 30);
  for (auto _ : state) {
    auto reservation = pool.try_reserve(1 << 20);
    auto buffer = reservation->allocate(1 << 20);
    benchmark::DoNotOptimize(buffer->data());
  }
}
BENCHMARK(reserve_allocate_and_free);

void scratch_from_reservation(benchmark::State& state) {
  BufferPool pool(std::size_t{1} << 30);
  auto reservation = pool.try_reserve(1 << 20);
  for (auto _ : state) {
    auto buffer = reservation->allocate(100'000);
    benchmark::DoNotOptimize(buffer->data());
  }
}
BENCHMARK(scratch_from_reservation);

void copy_and_drop_handle(benchmark::State& state) {
  const Buffer buffer = std::move(Buffer::allocate(64)).value();
  for (auto _ : state) {
    Buffer copy = buffer;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(copy_and_drop_handle);

// Memory of a batch when it is new, and when it is recycled: page faults are the difference.
void write_batch(benchmark::State& state) {
  constexpr std::size_t size = 38 << 20;
  BufferPool pool;
  for (auto _ : state) {
    auto buffer = pool.allocate(size);
    std::memset(buffer->data(), 1, size);
    *buffer = Buffer();
    if (state.range(0) == 0) pool.trim();
  }
  state.SetLabel(state.range(0) == 0 ? "fresh" : "recycled");
}
BENCHMARK(write_batch)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void write_batch_malloc(benchmark::State& state) {  // the peer
  constexpr std::size_t size = 38 << 20;
  for (auto _ : state) {
    void* memory = std::malloc(size);
    std::memset(memory, 1, size);
    benchmark::DoNotOptimize(memory);
    std::free(memory);
  }
}
BENCHMARK(write_batch_malloc)->Unit(benchmark::kMillisecond);

void per_index(benchmark::State& state, std::size_t indices) {
  state.counters["per_index"] = benchmark::Counter(
      static_cast<double>(indices),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void permutation_fill(benchmark::State& state) {
  const auto n = static_cast<std::uint64_t>(state.range(0));
  const auto permutation = std::move(Permutation::make(n, 7)).value();
  std::vector<std::uint64_t> out(4096);
  for (auto _ : state) {
    if (!permutation.fill(0, out).ok()) state.SkipWithError("fill");
    benchmark::DoNotOptimize(out.data());
  }
  per_index(state, out.size());
}
BENCHMARK(permutation_fill)
    ->Arg(5'000)
    ->Arg(60'000)
    ->Arg(1'000'000)
    ->Arg(1'000'000'000)
    ->Arg((1 << 29) + 1)  // the worst case: two steps for each index
    ->Arg((std::int64_t{1} << 62) + 1);

void permutation_fill_strided(benchmark::State& state) {
  const auto permutation = std::move(Permutation::make(1'000'000'000, 7)).value();
  std::vector<std::uint64_t> out(4096);
  for (auto _ : state) {
    if (!permutation.fill_strided(3, 8, out).ok()) state.SkipWithError("fill");
    benchmark::DoNotOptimize(out.data());
  }
  per_index(state, out.size());
}
BENCHMARK(permutation_fill_strided);

void permutation_one_by_one(benchmark::State& state) {
  const auto permutation = std::move(Permutation::make(1'000'000'000, 7)).value();
  std::uint64_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(permutation.permute(i++));
}
BENCHMARK(permutation_one_by_one);

void permutation_make(benchmark::State& state) {
  std::uint64_t seed = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Permutation::make(static_cast<std::uint64_t>(state.range(0)), seed++));
  }
}
BENCHMARK(permutation_make)->Arg(100)->Arg(1'000'000'000);

void permutation_fill_on(benchmark::State& state, std::int64_t target) {
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  const auto permutation = std::move(Permutation::make(1'000'000'000, 7)).value();
  std::vector<std::uint64_t> out(4096);
  for (auto _ : state) {
    if (!permutation.fill(0, out).ok()) state.SkipWithError("fill");
    benchmark::DoNotOptimize(out.data());
  }
  per_index(state, out.size());
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

const bool registered = [] {
  for (std::int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    const std::string name = std::string("permutation_fill_on_") + hwy::TargetName(target);
    benchmark::RegisterBenchmark(name.c_str(), permutation_fill_on, target);
  }
  return true;
}();

void random_stream_of_a_row(benchmark::State& state) {
  const RandomKey key(1, 2);
  std::uint64_t position = 0;
  for (auto _ : state) {
    RandomStream stream(key, position++, 1);
    benchmark::DoNotOptimize(stream.uniform());
  }
}
BENCHMARK(random_stream_of_a_row);

void random_normal(benchmark::State& state) {
  RandomStream stream(RandomKey(1, 2), 3);
  for (auto _ : state) benchmark::DoNotOptimize(stream.normal());
}
BENCHMARK(random_normal);

}  // namespace
}  // namespace penstock
