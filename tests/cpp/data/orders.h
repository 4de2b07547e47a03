// What the tests of orders share.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "data/order.h"

namespace penstock::data {

inline Order leaf(std::uint64_t n, std::uint32_t number = 0) {
  return *Order::leaf(number, n);
}

// All places of an epoch, one position after the other.
inline std::vector<Place> places(const Order& order, std::uint64_t epoch = 0,
                                 std::uint64_t first = 0, std::uint64_t count = ~0ull) {
  if (order.length()) count = std::min(count, *order.length() - first);
  std::vector<Place> all(count * order.width());
  order.locate(epoch, first, 1, all);
  return all;
}

inline std::vector<std::uint64_t> records(const Order& order, std::uint64_t epoch = 0,
                                          std::uint64_t first = 0, std::uint64_t count = ~0ull) {
  std::vector<std::uint64_t> all;
  for (const Place& place : places(order, epoch, first, count)) all.push_back(place.record);
  return all;
}

inline bool is_permutation_of_all(const std::vector<std::uint64_t>& numbers, std::uint64_t n) {
  std::vector<char> seen(n);
  for (const std::uint64_t number : numbers) {
    if (number >= n || seen[number]++) return false;
  }
  return numbers.size() == n;
}

}  // namespace penstock::data
