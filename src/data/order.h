// Order: which record is at which position of an epoch, as arithmetic over an immutable tree.
//
// A leaf is a source of n records. Operations are put on top of it, and each answers for a position
// of its own which position of its child is meant. So locate() takes time in the depth of the tree
// and memory that does not grow with the data, and any position can be asked for at any time.
//
// Take, skip, concat, mix and zip freeze the shuffles below them at epoch 0; a repeat hands down
// its pass number; everything else hands down the epoch it was asked with.
//
// The orders, like permutations, are part of Penstock's format: the same tree gives the same order
// in every version. digest() tells trees apart, and is what a token is checked against.
//
// Thread safety: an immutable value; copies share the tree and may be used from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/bitmap.h"
#include "penstock/error.h"

namespace penstock::data {

namespace order {
class Node;
}

// One record of one leaf.
struct Place {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint32_t leaf = kNone;
  std::uint64_t record = 0;
  bool operator==(const Place&) const = default;
};

class Order {
 public:
  static constexpr std::uint64_t kMaxLength = std::uint64_t{1} << 63;

  // `number` is how the caller tells its leaves apart. n may be 0.
  static Result<Order> leaf(std::uint32_t number, std::uint64_t n);

  // A keyed permutation, another one for each epoch.
  Result<Order> shuffle(std::uint64_t seed) const;
  // Records in blocks of `block`; a permutation of the blocks, then one inside each window of
  // `window / block` of them. A block of 0 means a sixteenth of the window.
  Result<Order> shuffle_windows(std::uint64_t seed, std::uint64_t window,
                                std::uint64_t block = 0) const;
  // The first n, and all but the first n; more than there are is all of them.
  Result<Order> take(std::uint64_t n) const;
  Result<Order> skip(std::uint64_t n) const;
  // n passes, or passes without end.
  Result<Order> repeat(std::optional<std::uint64_t> n) const;
  // The positions whose bit is set. `keep` has a bit for each position.
  Result<Order> subset(std::shared_ptr<const Bitmap> keep) const;
  // n draws with replacement, position i with a probability in proportion to weights[i]. Others in
  // each epoch.
  Result<Order> sample(std::vector<double> weights, std::uint64_t n, std::uint64_t seed) const;

  // One after the other; side by side (a row is then a place of each).
  static Result<Order> concat(const std::vector<Order>& parts);
  static Result<Order> zip(const std::vector<Order>& parts);
  // Every period of at most 4096 positions has a fixed number of each part, in a keyed order. Ends
  // where the first part runs out, or never: then each part begins again, with its pass number as
  // the epoch.
  static Result<Order> mix(const std::vector<Order>& parts, const std::vector<double>& weights,
                           std::uint64_t seed, bool endless);

  // The same order over leaves whose numbers are higher by `by`: for joining. Same digest.
  Order renumbered(std::uint32_t by) const;

  std::optional<std::uint64_t> length() const noexcept;  // nothing: endless
  std::size_t width() const noexcept;  // places of a row: 1, or more where datasets are zipped
  std::size_t leaves() const noexcept;
  bool shuffled() const noexcept;  // does another epoch give another order?
  std::uint64_t digest() const noexcept;

  // The places of positions start, start + stride, ...: width() of them each, one row after the
  // other. The positions must be below length().
  void locate(std::uint64_t epoch, std::uint64_t start, std::uint64_t stride,
              std::span<Place> out) const;
  // One position.
  void locate(std::uint64_t epoch, std::uint64_t position, std::span<Place> out) const;

  // Another row from where the row at a position comes from: the same leaf, and within what the
  // tree has cut out of it. `draw` numbers the tries. Zipped rows stay together.
  void substitute(std::uint64_t epoch, std::uint64_t position, std::uint64_t seed,
                  std::uint32_t draw, std::span<Place> out) const;

 private:
  static Result<Order> of(Result<std::shared_ptr<const order::Node>> node);
  explicit Order(std::shared_ptr<const order::Node> node) : node_(std::move(node)) {}
  std::shared_ptr<const order::Node> node_;
};

}  // namespace penstock::data
