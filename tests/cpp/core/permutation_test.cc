#include "penstock/permutation.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <random>
#include <vector>

namespace penstock {
namespace {

constexpr std::uint64_t kMax = Permutation::max_size;

Permutation make(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch = 0,
                 std::uint64_t stream = 0) {
  return std::move(Permutation::make(n, seed, epoch, stream)).value();
}

// Sizes at which widths, parities and walks change, and where overflow would hide.
std::vector<std::uint64_t> large_sizes() {
  std::vector<std::uint64_t> sizes = {
      1'000'000'000, 1'000'000'007, (1ull << 61) - 1, 9'223'372'036'854'775'783ull, kMax / 2 + 1,
      kMax - 1,      kMax};
  for (int bits = 12; bits < 63; ++bits) {
    for (const std::uint64_t n : {(1ull << bits) - 1, 1ull << bits, (1ull << bits) + 1}) {
      sizes.push_back(n);
    }
  }
  return sizes;
}

TEST(Permutation, sizes_outside_its_limits_are_refused) {
  for (const std::uint64_t n : {std::uint64_t{0}, kMax + 1, ~std::uint64_t{0}}) {
    const auto refused = Permutation::make(n, 0);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), Code::invalid_argument);
    EXPECT_NE(refused.error().message().find(std::to_string(n)), std::string::npos);
  }
}

TEST(Permutation, is_a_bijection_with_its_inverse_for_every_small_size) {
  std::vector<char> seen;
  for (std::uint64_t n = 1; n <= 4200; n += n < 700 ? 1 : 13) {
    const std::uint64_t keys = n <= 64 ? 50 : 2;
    for (std::uint64_t seed = 0; seed < keys; ++seed) {
      const Permutation permutation = make(n, seed, n);
      seen.assign(n, 0);
      for (std::uint64_t i = 0; i < n; ++i) {
        const std::uint64_t p = permutation.permute(i);
        ASSERT_LT(p, n);
        ASSERT_FALSE(seen[p]++) << "n " << n << " seed " << seed << " hits " << p << " twice";
        ASSERT_EQ(permutation.invert(p), i);
      }
    }
  }
}

TEST(Permutation, inverse_undoes_it_at_every_width_up_to_2_63) {
  std::mt19937_64 random(1);
  for (const std::uint64_t n : large_sizes()) {
    const Permutation permutation = make(n, random(), random(), random());
    for (int k = 0; k < 300; ++k) {
      const std::uint64_t i = k < 2 ? k * (n - 1) : random() % n;
      const std::uint64_t p = permutation.permute(i);
      ASSERT_LT(p, n);
      ASSERT_EQ(permutation.invert(p), i) << n;
      ASSERT_EQ(permutation.permute(permutation.invert(i)), i) << n;
    }
  }
}

TEST(Permutation, numbers_outside_map_to_themselves) {
  const Permutation permutation = make(1000, 1);
  for (const std::uint64_t i : {std::uint64_t{1000}, std::uint64_t{1023}, ~std::uint64_t{0}}) {
    EXPECT_EQ(permutation.permute(i), i);
    EXPECT_EQ(permutation.invert(i), i);
  }
}

TEST(Permutation, order_depends_on_every_part_of_the_key) {
  const auto head = [](const Permutation& permutation) {
    std::vector<std::uint64_t> out(8);
    EXPECT_TRUE(permutation.fill(0, out).ok());
    return out;
  };
  const auto base = head(make(1000, 1, 2, 3));
  EXPECT_EQ(base, head(make(1000, 1, 2, 3)));
  EXPECT_NE(base, head(make(1001, 1, 2, 3)));
  EXPECT_NE(base, head(make(1000, 1 + (1ull << 32), 2, 3)));
  EXPECT_NE(base, head(make(1000, 1, 3, 3)));
  EXPECT_NE(base, head(make(1000, 1, 2, 4)));
}

// The mapping is a format. If this test fails, the change must not be released: it would give every
// saved token another meaning.
TEST(Permutation, never_changes_between_versions) {
  struct Golden {
    std::uint64_t n, seed, epoch, stream;
    std::vector<std::uint64_t> head;
  };
  const Golden goldens[] = {
      {2u, 0u, 0u, 0u, {0u, 1u}},
      {5u, 1u, 0u, 0u, {1u, 2u, 4u, 3u, 0u}},
      {10u, 7u, 3u, 0u, {2u, 9u, 5u, 3u, 4u, 8u}},
      {1000u, 42u, 1u, 5u, {289u, 65u, 384u, 919u, 146u, 715u}},
      {65536u, 1099511627776ull, 0u, 0u, {29384u, 25177u, 12187u, 23587u, 41415u, 3507u}},
      {1000000000u,
       7u,
       12u,
       0u,
       {809614371u, 624202141u, 870488608u, 320289910u, 412899285u, 67741665u}},
      {2305843009213693951ull,
       3u,
       0u,
       34359738368ull,
       {70890891159983670ull, 1152477447848972399ull, 2244366307082403540ull,
        1462782988389689635ull, 1188708097451089170ull, 88090536818794002ull}},
      {9223372036854775808ull,
       18446744073709551615ull,
       8589934592ull,
       18446744073709551615ull,
       {8741852981047642709ull, 6929174116576494957ull, 8205302278453102520ull,
        1752805854130534206ull, 3546386224356629840ull, 1637790836795442234ull}},
  };
  for (const Golden& golden : goldens) {
    const Permutation permutation = make(golden.n, golden.seed, golden.epoch, golden.stream);
    for (std::size_t i = 0; i < golden.head.size(); ++i) {
      EXPECT_EQ(permutation.permute(i), golden.head[i]) << "n " << golden.n << " i " << i;
    }
  }
}

TEST(Permutation, fill_equals_permute_for_all_lengths_and_strides) {
  std::mt19937_64 random(2);
  for (const std::uint64_t n :
       {1ull, 2ull, 3ull, 5ull, 600ull, 4097ull, 1'000'000'007ull, (1ull << 62) + 1, 1ull << 63}) {
    const Permutation permutation = make(n, 9);
    for (const std::uint64_t count : {0, 1, 2, 3, 7, 8, 9, 31, 33, 511, 512, 513, 1500}) {
      if (count > n) continue;
      const std::uint64_t start = random() % (n - count + 1);
      std::vector<std::uint64_t> out(count);
      ASSERT_TRUE(permutation.fill(start, out).ok());
      for (std::uint64_t j = 0; j < count; ++j) ASSERT_EQ(out[j], permutation.permute(start + j));

      const std::uint64_t stride = count < 2 ? ~0ull : (n - 1) / (count - 1);
      const std::uint64_t first = count < 2 ? n - 1 : (n - 1) - stride * (count - 1);
      ASSERT_TRUE(permutation.fill_strided(first, stride, out).ok());
      for (std::uint64_t j = 0; j < count; ++j) {
        ASSERT_EQ(out[j], permutation.permute(first + j * stride));
      }
    }
  }
}

TEST(Permutation, fill_beyond_the_end_is_refused_and_writes_nothing) {
  std::vector<std::uint64_t> out(4, 77);
  const Permutation permutation = make(10, 0);
  for (const auto& [start, stride] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {7, 1}, {10, 0}, {1, 3}, {0, ~0ull}, {0, (1ull << 62) + 1}, {~0ull, 1}}) {
    const Status refused = permutation.fill_strided(start, stride, out);
    ASSERT_FALSE(refused.ok()) << start << " " << stride;
    EXPECT_EQ(refused.error().code(), Code::out_of_range);
  }
  EXPECT_EQ(out, std::vector<std::uint64_t>(4, 77));
  EXPECT_TRUE(permutation.fill_strided(0, 3, out).ok());
  EXPECT_TRUE(permutation.fill(10, {}).ok());
}

TEST(Permutation, every_instruction_set_gives_the_same_order) {
  const auto targets = hwy::SupportedTargets();
  int tried = 0;
  for (auto rest = targets; rest != 0; rest &= rest - 1) {
    hwy::SetSupportedTargetsForTest(rest & -rest);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    ++tried;
    for (const std::uint64_t n : {3ull, 100ull, 65'537ull, (1ull << 29) + 1, 1ull << 63}) {
      const Permutation permutation = make(n, 5);
      std::vector<std::uint64_t> out(std::min<std::uint64_t>(n, 1003));
      ASSERT_TRUE(permutation.fill(n - out.size(), out).ok());
      for (std::size_t j = 0; j < out.size(); ++j) {
        ASSERT_EQ(out[j], permutation.permute(n - out.size() + j)) << hwy::TargetName(rest & -rest);
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  EXPECT_GE(tried, 1);
}

}  // namespace
}  // namespace penstock
