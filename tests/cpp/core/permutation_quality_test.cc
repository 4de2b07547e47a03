// Is the order as random as a shuffle? Each test compares counts over many keys with what uniformly
// random permutations give. Keys are fixed, so a test that passes once passes always.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "penstock/permutation.h"

namespace penstock {
namespace {

Permutation make(std::uint64_t n, std::uint64_t seed) {
  return std::move(Permutation::make(n, seed)).value();
}

// How many standard deviations the counts are from an even spread over their cells.
double unevenness(const std::vector<int>& counts, double total) {
  const double cells = static_cast<double>(counts.size());
  const double expected = total / cells;
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - expected) * (count - expected) / expected;
  return (chi_square - (cells - 1)) / std::sqrt(2 * (cells - 1));
}

TEST(PermutationQuality, all_orders_of_a_few_numbers_are_equally_likely) {
  int orders = 1;
  for (int n = 2; n <= 6; ++n) {
    orders *= n;
    const int keys = 60 * orders + 10'000;
    std::map<std::uint64_t, int> seen;
    for (int seed = 0; seed < keys; ++seed) {
      const Permutation permutation = make(n, seed);
      std::uint64_t order = 0;
      for (int i = 0; i < n; ++i) order = order * 8 + permutation.permute(i);
      ++seen[order];
    }
    ASSERT_EQ(seen.size(), static_cast<std::size_t>(orders)) << n;
    std::vector<int> counts;
    for (const auto& [order, count] : seen) counts.push_back(count);
    EXPECT_LT(unevenness(counts, keys), 4) << n;
  }
}

TEST(PermutationQuality, every_number_is_equally_likely_to_come_first) {
  for (const int n : {7, 9, 16, 17, 100, 1000, 4096, 10'000}) {
    const int keys = 20 * n + 20'000;
    std::vector<int> first(n), distance(n - 1);
    for (int seed = 0; seed < keys; ++seed) {
      const Permutation permutation = make(n, seed);
      const std::uint64_t a = permutation.permute(0);
      const std::uint64_t b = permutation.permute(1);
      ++first[a];
      ++distance[(b + n - a) % n - 1];  // neighbours before say nothing of neighbours after
    }
    EXPECT_LT(unevenness(first, keys), 4) << n;
    EXPECT_LT(unevenness(distance, keys), 4) << n;
  }
}

TEST(PermutationQuality, pairs_of_positions_are_independent) {
  constexpr int n = 33;
  constexpr int keys = 40 * n * (n - 1);
  std::vector<int> pairs(n * (n - 1));
  for (int seed = 0; seed < keys; ++seed) {
    const Permutation permutation = make(n, seed);
    const int a = static_cast<int>(permutation.permute(3));
    const int b = static_cast<int>(permutation.permute(19));
    ++pairs[a * (n - 1) + (b < a ? b : b - 1)];
  }
  EXPECT_LT(unevenness(pairs, keys), 4);
}

TEST(PermutationQuality, large_orders_have_no_drift_no_runs_and_one_fixed_point_on_average) {
  constexpr std::uint64_t n = 100'003;
  constexpr int keys = 40;
  double displacement = 0, ascents = 0, product = 0;
  int fixed = 0;
  std::vector<std::uint64_t> order(n);
  for (int seed = 0; seed < keys; ++seed) {
    ASSERT_TRUE(make(n, seed).fill(0, order).ok());
    for (std::uint64_t i = 0; i < n; ++i) {
      const double x = static_cast<double>(order[i]);
      displacement += std::abs(x - static_cast<double>(i)) / n;
      ascents += i > 0 && order[i - 1] < order[i] ? 1 : 0;
      product += (x / n - 0.5) * (static_cast<double>(i) / n - 0.5);
      fixed += order[i] == i ? 1 : 0;
    }
  }
  const double total = static_cast<double>(n) * keys;
  EXPECT_NEAR(displacement / total, 1.0 / 3, 5 * std::sqrt(2.0 / 45 / total));
  EXPECT_NEAR(ascents, total / 2, 5 * std::sqrt(total / 12));
  EXPECT_NEAR(product / total, 0, 5 / 12.0 / std::sqrt(total));
  EXPECT_NEAR(fixed, keys, 5 * std::sqrt(keys));
}

TEST(PermutationQuality, a_part_of_a_huge_order_covers_its_range_evenly) {
  for (const std::uint64_t n : {1'000'000'000ull, (1ull << 40) + 1, 1ull << 63}) {
    std::vector<std::uint64_t> part(200'000);
    ASSERT_TRUE(make(n, 11).fill(12'345, part).ok());
    std::vector<int> high(256), low(256), step(256);
    std::uint64_t before = 0;
    for (const std::uint64_t x : part) {
      ++high[static_cast<std::size_t>(std::ldexp(static_cast<double>(x), 8) / n)];
      ++low[x % 256];
      ++step[(x - before) % 256];
      before = x;
    }
    EXPECT_LT(unevenness(high, 200'000), 4) << n;
    EXPECT_LT(unevenness(low, 200'000), 4) << n;
    EXPECT_LT(unevenness(step, 200'000), 4) << n;
  }
}

TEST(PermutationQuality, one_bit_of_the_seed_changes_half_of_all_bits) {
  constexpr std::uint64_t n = 1ull << 62;
  double flips = 0;
  for (int bit = 0; bit < 64; ++bit) {
    for (std::uint64_t i = 0; i < 50; ++i) {
      flips += __builtin_popcountll(make(n, i).permute(i) ^ make(n, i ^ 1ull << bit).permute(i));
    }
  }
  EXPECT_NEAR(flips / (64 * 50 * 62), 0.5, 0.01);
}

}  // namespace
}  // namespace penstock
