#include "data/order.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "orders.h"

namespace penstock::data {
namespace {

using Numbers = std::vector<std::uint64_t>;

Numbers range(std::uint64_t first, std::uint64_t last) {
  Numbers all(last - first);
  std::iota(all.begin(), all.end(), first);
  return all;
}

TEST(Order, a_leaf_is_in_its_own_order) {
  EXPECT_EQ(records(leaf(5)), range(0, 5));
  EXPECT_EQ(places(leaf(5, 7))[4], (Place{7, 4}));
  EXPECT_EQ(leaf(0).length(), 0u);
  EXPECT_FALSE(Order::leaf(0, Order::kMaxLength + 1).ok());
}

TEST(Order, a_shuffle_is_a_bijection_and_another_one_in_each_epoch) {
  for (const std::uint64_t n : {1u, 2u, 7u, 100u, 1000u}) {
    const Order order = *leaf(n).shuffle(3);
    EXPECT_TRUE(is_permutation_of_all(records(order, 0), n));
    EXPECT_TRUE(is_permutation_of_all(records(order, 1), n));
    EXPECT_TRUE(order.shuffled());
    EXPECT_TRUE(n < 100 || records(order, 0) != records(order, 1));
  }
  EXPECT_TRUE(records(*leaf(0).shuffle(3)).empty());
}

TEST(Order, one_position_and_many_give_the_same_places) {
  const Order a = *leaf(500, 0).shuffle(1);
  const Order b = *leaf(300, 1).shuffle_windows(2, 64);
  const Order order = *(*Order::mix({a, b}, {2, 1}, 5, false)).shuffle(9);
  const auto all = places(order, 4);
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    Place one;
    order.locate(4, i, std::span(&one, 1));
    EXPECT_EQ(one, all[i]);
  }
  std::vector<Place> strided(10);
  order.locate(4, 3, 17, strided);
  for (std::size_t i = 0; i < strided.size(); ++i) EXPECT_EQ(strided[i], all[3 + 17 * i]);
}

TEST(Order, a_window_shuffle_is_a_bijection_for_every_size_and_keeps_reads_local) {
  for (std::uint64_t n = 1; n <= 300; n += n < 40 ? 1 : 17) {
    for (const std::uint64_t window : {1u, 2u, 16u, 32u, 100u, 1000u}) {
      for (const std::uint64_t block : {0u, 1u, 5u, 10u}) {
        const Order order = *leaf(n).shuffle_windows(n, window, block);
        ASSERT_TRUE(is_permutation_of_all(records(order, window), n))
            << n << " " << window << " " << block;
      }
    }
  }
  // 10 blocks of 10 records; a window has 5 of them.
  const Order order = *leaf(100).shuffle_windows(1, 50, 10);
  const Numbers all = records(order);
  for (const std::uint64_t first : {0u, 50u}) {
    std::vector<int> hits(10);
    for (std::uint64_t i = first; i < first + 50; ++i) hits[all[i] / 10]++;
    EXPECT_EQ(std::count(hits.begin(), hits.end(), 10), 5) << "whole blocks only";
  }
  EXPECT_NE(all, records(order, 1));
}

TEST(Order, take_and_skip_freeze_the_shuffle_before_them) {
  // semantics 7: "so shuffle().take(1000) and shuffle().skip(1000) never overlap in any epoch"
  const Order shuffled = *leaf(3000).shuffle(7);
  const Order head = *shuffled.take(1000), tail = *shuffled.skip(1000);
  const Numbers frozen = records(shuffled, 0);
  for (const std::uint64_t epoch : {0u, 1u, 99u}) {
    EXPECT_EQ(records(head, epoch), Numbers(frozen.begin(), frozen.begin() + 1000));
    EXPECT_EQ(records(tail, epoch), Numbers(frozen.begin() + 1000, frozen.end()));
  }
  EXPECT_FALSE(head.shuffled());
  // Shuffles to the right go on.
  const Order again = *head.shuffle(1);
  EXPECT_NE(records(again, 0), records(again, 1));
  Numbers sorted = records(again, 5), expected = records(head);
  std::sort(sorted.begin(), sorted.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(sorted, expected);
}

TEST(Order, cuts_stop_at_the_end) {
  EXPECT_EQ(records(*leaf(5).take(9)), range(0, 5));
  EXPECT_EQ(records(*leaf(5).skip(2)), range(2, 5));
  EXPECT_EQ(leaf(5).skip(9)->length(), 0u);
  EXPECT_EQ(records(*leaf(9).skip(2)->take(3)->skip(1)), range(3, 5));
}

TEST(Order, repeat_uses_the_pass_number_as_the_epoch) {
  // semantics 7: ".shuffle().repeat() uses the pass number as the epoch"
  const Order shuffled = *leaf(50).shuffle(1);
  const Order three = *shuffled.repeat(3);
  ASSERT_EQ(three.length(), 150u);
  for (std::uint64_t pass = 0; pass < 3; ++pass) {
    EXPECT_EQ(records(three, 0, pass * 50, 50), records(shuffled, pass));
    EXPECT_EQ(records(three, 2, pass * 50, 50), records(shuffled, 6 + pass));
  }
  const Order endless = *shuffled.repeat(std::nullopt);
  EXPECT_FALSE(endless.length());
  EXPECT_EQ(records(endless, 0, 50'000'000, 50), records(shuffled, 1'000'000));
  EXPECT_EQ(endless.take(75)->length(), 75u);
  for (const auto& bad : {leaf(0).repeat(2), leaf(5).repeat(0), endless.repeat(2),
                          leaf(1ull << 62).repeat(3), endless.shuffle(1)}) {
    ASSERT_FALSE(bad.ok());
    EXPECT_EQ(bad.error().code(), Code::invalid_argument);
  }
}

TEST(Order, concat_freezes_its_parts_and_puts_one_after_the_other) {
  const Order a = *leaf(30, 0).shuffle(1), b = *leaf(20, 1).shuffle(2);
  const Order both = *Order::concat({a, b, leaf(0, 2), leaf(1, 3)});
  ASSERT_EQ(both.length(), 51u);
  auto expected = places(a);
  for (const Place& place : places(b)) expected.push_back(place);
  expected.push_back({3, 0});
  EXPECT_EQ(places(both, 0), expected);
  EXPECT_EQ(places(both, 8), expected);
  EXPECT_EQ(both.leaves(), 4u);
  EXPECT_FALSE(Order::concat({*a.repeat(std::nullopt), b}).ok());
  EXPECT_EQ(places(*Order::concat({b, *a.repeat(std::nullopt)}), 0, 20, 30), places(a));
}

TEST(Order, zip_gives_a_place_of_each) {
  const Order a = *leaf(30, 0).shuffle(1), b = leaf(30, 1);
  const Order pairs = *Order::zip({a, b});
  ASSERT_EQ(pairs.width(), 2u);
  const auto all = places(pairs, 3);
  const auto left = places(a, 0);
  for (std::uint64_t i = 0; i < 30; ++i) {
    EXPECT_EQ(all[2 * i], left[i]);
    EXPECT_EQ(all[2 * i + 1], (Place{1, i}));
  }
  const auto uneven = Order::zip({a, leaf(29, 1)});
  ASSERT_FALSE(uneven.ok());
  EXPECT_NE(uneven.error().message().find("30 and 29"), std::string::npos);
}

TEST(Order, a_subset_is_the_survivors) {
  std::mt19937_64 random(5);
  for (const std::uint64_t n : {1u, 63u, 64u, 65u, 511u, 512u, 513u, 5000u}) {
    std::vector<std::uint64_t> words((n + 63) / 64);
    for (auto& word : words) word = random() & random();
    Numbers kept;
    for (std::uint64_t i = 0; i < n; ++i) {
      if (words[i / 64] >> (i % 64) & 1) kept.push_back(i);
    }
    const auto keep = std::make_shared<Bitmap>(words, n);
    const Order order = *leaf(n).subset(keep);
    EXPECT_EQ(records(order), kept) << n;
    for (std::uint64_t i = 0; i <= n; ++i) {
      ASSERT_EQ(keep->rank(i),
                std::uint64_t(std::lower_bound(kept.begin(), kept.end(), i) - kept.begin()));
    }
    EXPECT_FALSE(leaf(n + 1).subset(keep).ok());
  }
}

TEST(Order, a_sample_draws_in_proportion_to_the_weights) {
  const Order order = *leaf(4).sample({1, 0, 2, 5}, 80'000, 3);
  std::vector<int> hits(4);
  for (const std::uint64_t record : records(order)) hits[record]++;
  EXPECT_EQ(hits[1], 0);
  EXPECT_NEAR(hits[0], 10'000, 500);
  EXPECT_NEAR(hits[2], 20'000, 600);
  EXPECT_NEAR(hits[3], 50'000, 700);
  EXPECT_NE(records(order, 0, 0, 100), records(order, 1, 0, 100));
  EXPECT_FALSE(leaf(4).sample({1, 2}, 5, 0).ok());
  EXPECT_FALSE(leaf(2).sample({0, 0}, 5, 0).ok());
  EXPECT_FALSE(leaf(2).sample({1, -1}, 5, 0).ok());
}

TEST(Order, billions_of_records_cost_no_more_than_ten) {
  for (const std::uint64_t n : {1'000'000'000ull, 1ull << 62}) {
    const Order order = *leaf(n).shuffle(1)->take(n - 5)->shuffle_windows(3, 1 << 20)->skip(2);
    ASSERT_EQ(order.length(), n - 7);
    Numbers seen = records(order, 3, n / 2, 20'000);
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
    EXPECT_LT(seen.back(), n);
  }
}

TEST(Order, a_digest_tells_trees_apart) {
  const Order a = leaf(100), b = *a.shuffle(1);
  const std::vector<Order> orders = {a,
                                     leaf(101),
                                     b,
                                     *a.shuffle(2),
                                     *a.shuffle_windows(1, 10),
                                     *a.shuffle_windows(1, 10, 2),
                                     *b.take(5),
                                     *b.take(6),
                                     *b.skip(5),
                                     *b.repeat(2),
                                     *b.repeat(std::nullopt),
                                     *Order::concat({a, b}),
                                     *Order::concat({b, a}),
                                     *Order::zip({a, b}),
                                     *Order::mix({a, b}, {1, 1}, 0, false),
                                     *Order::mix({a, b}, {1, 2}, 0, false),
                                     *Order::mix({a, b}, {1, 1}, 1, false),
                                     *Order::mix({a, b}, {1, 1}, 0, true),
                                     *leaf(2).sample({1, 2}, 9, 0),
                                     *leaf(2).sample({1, 2}, 9, 1),
                                     *leaf(2).sample({1, 3}, 9, 0)};
  for (std::size_t i = 0; i < orders.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      EXPECT_NE(orders[i].digest(), orders[k].digest()) << i << " " << k;
    }
  }
  EXPECT_EQ(leaf(100, 0).shuffle(1)->digest(), b.digest());
  EXPECT_EQ(b.digest(), 18135055676692924524u) << "a token of an old run would be refused";
}

TEST(Order, orders_stay_what_they_are) {
  // A token of an old run counts positions of these.
  const Order a = leaf(20, 0), b = leaf(9, 1);
  const auto head = [](const Order& order) { return records(order, 1, 0, 8); };
  EXPECT_EQ(head(*a.shuffle(5)), (Numbers{4, 17, 0, 1, 10, 11, 15, 13}));
  EXPECT_EQ(head(*a.shuffle_windows(5, 8, 3)), (Numbers{8, 6, 18, 7, 19, 0, 5, 3}));
  EXPECT_EQ(head(*Order::mix({a, b}, {2, 1}, 5, false)), (Numbers{0, 0, 1, 2, 1, 3, 2, 4}));
  EXPECT_EQ(head(*a.shuffle(5)->repeat(3)), (Numbers{19, 12, 14, 3, 7, 10, 4, 0}));
  EXPECT_EQ(head(*b.sample({1, 2, 3, 4, 5, 6, 7, 8, 9}, 99, 5)), (Numbers{0, 7, 2, 7, 8, 8, 4, 5}));
}

TEST(Order, a_substitute_comes_from_the_same_leaf_and_from_what_was_cut_out_of_it) {
  // semantics 18: "replace draws a substitute from the same leaf source"
  const Order a = *leaf(100, 0).shuffle(1)->take(50), b = leaf(60, 1);
  const Numbers in_a = records(a);
  const Order mixed = *Order::mix({a, b}, {1, 1}, 0, false)->shuffle(4);
  const auto all = places(mixed, 2);
  Numbers drawn;
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    for (std::uint32_t k = 0; k < 8; ++k) {
      Place place, again;
      mixed.substitute(2, i, 7, k, std::span(&place, 1));
      mixed.substitute(2, i, 7, k, std::span(&again, 1));
      EXPECT_EQ(place, again);
      EXPECT_EQ(place.leaf, all[i].leaf);
      if (place.leaf == 0) {
        EXPECT_NE(std::find(in_a.begin(), in_a.end(), place.record), in_a.end());
        drawn.push_back(place.record);
      } else {
        EXPECT_LT(place.record, 60u);
      }
    }
  }
  std::sort(drawn.begin(), drawn.end());
  EXPECT_GT(std::unique(drawn.begin(), drawn.end()) - drawn.begin(), 40);
  // Pairs stay pairs.
  const Order pairs = *Order::zip({leaf(40, 0), leaf(40, 1)})->shuffle(1);
  std::vector<Place> pair(2);
  pairs.substitute(0, 3, 1, 0, pair);
  EXPECT_EQ(pair[0].record, pair[1].record);
}

}  // namespace
}  // namespace penstock::data
