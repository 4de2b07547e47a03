#include <algorithm>
#include <map>

#include "orders.h"

namespace penstock::data {
namespace {

std::vector<Order> leaves(const std::vector<std::uint64_t>& sizes) {
  std::vector<Order> all;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    all.push_back(*leaf(sizes[i], static_cast<std::uint32_t>(i)).shuffle(i));
  }
  return all;
}

TEST(Mix, every_period_has_the_same_number_of_each) {
  // semantics 10: "weights become integers over a period of at most 4096; inside a period a keyed
  // permutation assigns offsets to sources"
  const Order order = *Order::mix(leaves({3000, 1000}), {3, 1}, 0, false);
  const auto all = places(order);
  ASSERT_GE(all.size(), 3900u);
  bool always_alike = true;
  for (std::size_t first = 0; first + 4 <= all.size(); first += 4) {
    int ones = 0;
    for (std::size_t i = first; i < first + 4; ++i) {
      ones += all[i].leaf == 1;
      always_alike &= all[i].leaf == all[i - first].leaf;
    }
    EXPECT_EQ(ones, 1);
  }
  EXPECT_FALSE(always_alike) << "each period has an order of its own";
}

TEST(Mix, ends_where_the_first_source_runs_out) {
  // semantics 10: "Length: until the first source runs out (stop="first", default)"
  for (const auto& sizes : std::vector<std::vector<std::uint64_t>>{
           {10, 1000}, {1000, 10}, {7, 8, 9}, {1, 1}, {100, 33, 1}}) {
    const std::vector<double> weights(sizes.size(), 1.0);
    const auto parts = leaves(sizes);
    const auto all = places(*Order::mix(parts, weights, 3, false));
    const auto longer = places(*Order::mix(parts, weights, 3, true), 0, 0, all.size() + 1);
    std::vector<std::uint64_t> taken(sizes.size());
    for (const Place& place : all) taken[place.leaf]++;
    for (std::size_t i = 0; i < sizes.size(); ++i) EXPECT_LE(taken[i], sizes[i]);
    const std::uint32_t next = longer.back().leaf;
    EXPECT_EQ(taken[next], sizes[next]) << "the source that is next has nothing left";
  }
}

TEST(Mix, no_record_of_a_source_comes_twice_within_its_pass) {
  // semantics 10: "No record of a source twice within its pass."
  const std::vector<std::uint64_t> sizes = {17, 40, 1};
  const Order order = *Order::mix(leaves(sizes), {0.5, 0.37, 0.13}, 9, true);
  EXPECT_FALSE(order.length());
  std::map<std::uint32_t, std::vector<std::uint64_t>> taken;
  for (const Place& place : places(order, 0, 0, 10'000)) taken[place.leaf].push_back(place.record);
  for (const auto& [part, numbers] : taken) {
    const std::uint64_t n = sizes[part];
    for (std::size_t first = 0; first + n <= numbers.size(); first += n) {
      const std::vector<std::uint64_t> pass(numbers.begin() + std::ptrdiff_t(first),
                                            numbers.begin() + std::ptrdiff_t(first + n));
      ASSERT_TRUE(is_permutation_of_all(pass, n)) << "source " << part << " pass " << first / n;
      // "each source repeats with its own pass number as epoch"
      ASSERT_EQ(pass, records(*leaf(n).shuffle(part), first / n));
    }
  }
}

TEST(Mix, counts_follow_the_weights_whatever_they_are) {
  for (const auto& weights : std::vector<std::vector<double>>{
           {3, 1}, {0.1, 0.2, 0.7}, {1, 3.14159}, {1e-9, 1}, {5, 5, 5, 5, 5}, {1e6, 1}}) {
    const std::vector<std::uint64_t> sizes(weights.size(), 1000);
    const Order order = *Order::mix(leaves(sizes), weights, 1, true);
    const std::uint64_t count = 4096 * 10;
    std::vector<double> taken(weights.size());
    for (const Place& place : places(order, 0, 0, count)) taken[place.leaf]++;
    double sum = 0;
    for (const double weight : weights) sum += weight;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      EXPECT_NEAR(taken[i] / count, weights[i] / sum, 1.0 / 2048);
      EXPECT_GT(taken[i], 0);
    }
  }
}

TEST(Mix, is_the_same_in_every_epoch_and_has_limits) {
  const Order order = *Order::mix(leaves({50, 50}), {1, 1}, 0, false);
  EXPECT_EQ(places(order, 0), places(order, 5));
  EXPECT_NE(places(order, 0), places(*Order::mix(leaves({50, 50}), {1, 1}, 1, false)));
  for (const auto& bad : {Order::mix({}, {}, 0, false), Order::mix(leaves({1, 2}), {1}, 0, false),
                          Order::mix(leaves({1, 2}), {1, 0}, 0, false),
                          Order::mix(leaves({1, 0}), {1, 1}, 0, true)}) {
    EXPECT_FALSE(bad.ok());
  }
}

}  // namespace
}  // namespace penstock::data
