// Several datasets as one: a part is held out, records are filtered, another dataset is mixed in.
#include <cstdio>
#include <numeric>

#include "penstock/dataset.h"

namespace {

// Samples 0, 1, ... with a weight each.
penstock::Dataset numbers(std::int64_t first, std::int64_t count) {
  auto x = penstock::Tensor::empty(penstock::DType::int64, {count});
  auto weight = penstock::Tensor::empty(penstock::DType::float32, {count});
  std::iota(x->data<std::int64_t>(), x->data<std::int64_t>() + count, first);
  std::fill_n(weight->data<float>(), count, 0.5F);
  return penstock::Dataset::of_arrays({{"x", *x}, {"weight", *weight}});
}

}  // namespace

int main() {
  const auto parts = numbers(0, 100).split({0.9});  // 90 to train with, 10 to test with
  const auto odd = parts[0].filter([](const penstock::Sample& sample) {
    return *sample.integer("x") % 2 == 1;  // looks at each record once, now
  });
  // Three of `odd` to one of the others, kept in memory, in another order in each epoch.
  const auto mixed = penstock::Dataset::mix({odd, numbers(1000, 20)}, {3, 1}).cache().shuffle(7);
  const auto size = mixed.size();
  if (!size.ok()) {
    std::fprintf(stderr, "%s\n", size.error().to_string().c_str());
    return 1;
  }

  auto loader = mixed.loader({.batch = 16, .threads = 2});
  std::size_t rows = 0, others = 0;
  for (;;) {
    auto batch = loader->next();
    if (!batch.ok()) return 1;
    if (!*batch) break;
    const penstock::Tensor* x = (*batch)->array("x");
    for (std::int64_t i = 0; i < x->size(); ++i) others += x->data<std::int64_t>()[i] >= 1000;
    rows += (*batch)->rows();
  }
  std::printf("%zu rows, %zu of them from the other dataset\n", rows, others);
  return rows == **size && others > 0 && others < rows ? 0 : 1;
}
