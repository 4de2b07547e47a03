#include "penstock/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace penstock {
namespace {

using Block = std::array<std::uint32_t, 4>;

TEST(Philox, gives_the_known_answers_of_random123) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, is_the_philox_sequence_of_its_key_and_counter) {
  const RandomKey key(7, 3);
  EXPECT_EQ(key.words()[0], philox4x32({3, 0, 0, 0}, {7, 0})[0]);
  RandomStream stream(key, 0x123456789abcdef0, 5);
  for (std::uint32_t draw = 0; draw < 3; ++draw) {
    const Block block = philox4x32({0x9abcdef0, 0x12345678, 5, draw}, key.words());
    for (const std::uint32_t word : block) EXPECT_EQ(stream.bits32(), word);
  }
}

TEST(RandomStream, differs_by_seed_epoch_position_and_operation) {
  std::set<std::uint64_t> seen;
  std::size_t made = 0;
  for (std::uint64_t seed : {0ull, 1ull, 1ull << 32, ~0ull}) {
    for (std::uint64_t epoch : {0ull, 1ull, 1ull << 32}) {
      for (std::uint64_t position : {0ull, 1ull, 1ull << 32, (1ull << 63) - 1}) {
        for (std::uint32_t operation : {0u, 1u, ~0u}) {
          RandomStream stream(RandomKey(seed, epoch), position, operation);
          seen.insert(stream.bits64());
          ++made;
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), made);
}

TEST(RandomStream, never_changes_between_versions) {
  // From an independent implementation in Python.
  RandomStream stream(RandomKey(42, 1), 1'000'000'007, 2);
  EXPECT_EQ(stream.bits32(), 3183953752u);
  EXPECT_EQ(stream.bits64(), 466797364656222680u);
  EXPECT_EQ(stream.uniform(), 0x1.b25471edb5330p-3);
  EXPECT_EQ(stream.uniform(-3, 5), -0x1.fb2b078854510p-2);
  EXPECT_EQ(stream.below(1'000'000), 343851u);
  EXPECT_EQ(stream.normal(), -0x1.45217f3b46946p+1);
  EXPECT_EQ(stream.normal(), -0x1.733f2f7add5a0p-1);
  EXPECT_EQ(stream.normal(), 0x1.0559836de4f36p-1);
  EXPECT_EQ(stream.bernoulli(0.5), false);
}

TEST(RandomStream, uniform_numbers_fill_their_interval_evenly) {
  RandomStream stream(RandomKey(1, 0), 0);
  std::vector<int> bins(64);
  constexpr int draws = 640'000;
  for (int i = 0; i < draws; ++i) {
    const double x = stream.uniform(-2, 6);
    ASSERT_GE(x, -2);
    ASSERT_LT(x, 6);
    ++bins[static_cast<std::size_t>((x + 2) * 8)];
  }
  double chi_square = 0;
  for (const int bin : bins) chi_square += (bin - 10'000.0) * (bin - 10'000.0) / 10'000.0;
  EXPECT_LT(chi_square, 63 + 5 * std::sqrt(2 * 63));
}

TEST(RandomStream, below_is_even_where_a_remainder_would_not_be) {
  RandomStream stream(RandomKey(2, 0), 0);
  EXPECT_EQ(stream.below(0), 0u);
  EXPECT_EQ(stream.below(1), 0u);
  // With 3 * 2^62 values, the plain high half of a product is a multiple of 3 half of the time.
  constexpr std::uint64_t n = 3ull << 62;
  int remainders[3] = {};
  for (int i = 0; i < 90'000; ++i) {
    const std::uint64_t x = stream.below(n);
    ASSERT_LT(x, n);
    ++remainders[x % 3];
  }
  for (const int count : remainders) EXPECT_NEAR(count, 30'000, 5 * std::sqrt(30'000 * 2 / 3.0));
  int faces[6] = {};
  for (int i = 0; i < 60'000; ++i) ++faces[stream.below(6)];
  for (const int face : faces) EXPECT_NEAR(face, 10'000, 5 * std::sqrt(10'000 * 5 / 6.0));
}

TEST(RandomStream, normal_numbers_have_the_moments_and_tails_of_the_distribution) {
  RandomStream stream(RandomKey(3, 0), 0);
  constexpr int draws = 1'000'000;
  double sums[5] = {};
  int beyond[4] = {};
  for (int i = 0; i < draws; ++i) {
    const double x = stream.normal();
    double power = 1;
    for (int k = 1; k < 5; ++k) sums[k] += power *= x;
    for (int k = 1; k < 4; ++k) beyond[k] += std::abs(x) > k ? 1 : 0;
  }
  EXPECT_NEAR(sums[1] / draws, 0, 5e-3);
  EXPECT_NEAR(sums[2] / draws, 1, 7e-3);
  EXPECT_NEAR(sums[3] / draws, 0, 2e-2);
  EXPECT_NEAR(sums[4] / draws, 3, 5e-2);
  for (int k = 1; k < 4; ++k) {
    const double expected = draws * std::erfc(k / std::sqrt(2.0));
    EXPECT_NEAR(beyond[k], expected, 5 * std::sqrt(expected));
  }
}

TEST(RandomStream, normal_numbers_are_the_quantiles_of_uniform_ones) {
  for (std::uint64_t position = 0; position < 20'000; ++position) {
    RandomStream bits(RandomKey(4, 0), position);
    RandomStream normals(RandomKey(4, 0), position);
    const double p = (static_cast<double>(bits.bits64() >> 12) + 0.5) * 0x1p-52;
    const double x = normals.normal();
    const double back = 0.5 * std::erfc(-x / std::sqrt(2.0));
    ASSERT_NEAR(back / p, 1, 1e-12) << x;
  }
}

TEST(RandomStream, bernoulli_is_never_certain_or_as_told) {
  RandomStream stream(RandomKey(5, 0), 0);
  int hits = 0;
  for (int i = 0; i < 100'000; ++i) {
    EXPECT_FALSE(stream.bernoulli(0));
    EXPECT_TRUE(stream.bernoulli(1));
    hits += stream.bernoulli(0.3) ? 1 : 0;
  }
  EXPECT_NEAR(hits, 30'000, 5 * std::sqrt(21'000));
}

}  // namespace
}  // namespace penstock
