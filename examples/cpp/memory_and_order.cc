// Core on its own: a shuffled order by arithmetic, a batch under a memory budget, random numbers
// that depend on the row and not on the thread.
#include <cstdio>
#include <vector>

#include "penstock/buffer.h"
#include "penstock/permutation.h"
#include "penstock/random.h"
#include "penstock/tensor.h"

int main() {
  // clang-format off
  penstock::BufferPool pool(64 << 20);  // bytes

  // Admission: the batch is paid for before work on it begins.
  auto bytes = penstock::Tensor::bytes_for(penstock::DType::float32, {256, 3});
  auto reservation = pool.try_reserve(*bytes);
  if (!reservation) return 1;  // no room now: pool.on_room() tells when to try again
  auto batch = penstock::Tensor::empty(*reservation, penstock::DType::float32, {256, 3});
  if (!batch.ok()) return 1;

  // Rank 3 of 8 takes every eighth position of a shuffled billion.
  auto order = penstock::Permutation::make(1'000'000'000, /*seed=*/7, /*epoch=*/0);
  std::vector<std::uint64_t> records(256);
  if (!order->fill_strided(/*start=*/3, /*stride=*/8, records).ok()) return 1;

  const penstock::RandomKey key(/*seed=*/0, /*epoch=*/0);
  for (int slot = 0; slot < 256; ++slot) {
    penstock::RandomStream random(key, /*position=*/3 + 8 * slot);
    float* row = batch->row(slot)->data<float>();
    for (int i = 0; i < 3; ++i) row[i] = static_cast<float>(random.normal());
  }
  batch->buffer().give_to_user();  // leaves the budget, comes back when the last view is gone
  // clang-format on

  std::printf("first record %llu, held by the user %zu bytes\n",
              static_cast<unsigned long long>(records[0]), pool.stats().held_by_user);
  return pool.stats().in_use == 0 ? 0 : 1;
}
