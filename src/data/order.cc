// The tree's plain nodes: leaf, cuts, repeats, joins. Shuffles, samples and mixes have their files.
#include "data/order.h"

#include "data/order_node.h"

namespace penstock::data {
namespace order {
namespace {

class Leaf final : public Node {
 public:
  Leaf(std::uint32_t number, std::uint64_t n) : number_(number) {
    length = n;
    digest = Digest().add("leaf").add(n).value();
  }
  void locate(std::span<Ask> asks) const override {
    for (const Ask& ask : asks) *ask.out = {number_, ask.position};
  }
  void substitute(Ask ask, RandomStream& random) const override {
    *ask.out = {number_, random.below(*length)};
  }

 private:
  std::uint32_t number_;
};

// A run of the child's positions: take and skip.
class Cut final : public Over {
 public:
  Cut(NodePtr child, std::uint64_t first, Length n) : Over(std::move(child), "cut"), first_(first) {
    length = n;
    shuffled = false;
    tell(first, n.value_or(Order::kMaxLength));
  }
  void locate(std::span<Ask> asks) const override {
    for (Ask& ask : asks) {
      ask.epoch = 0;
      ask.position += first_;
    }
    child_->locate(asks);
  }

 private:
  std::uint64_t first_;
};

class Repeat final : public Over {
 public:
  Repeat(NodePtr child, Length passes)
      : Over(std::move(child), "repeat"), pass_(*child_->length), passes_(passes) {
    length = passes ? Length(pass_ * *passes) : Length();
    tell(passes.value_or(Order::kMaxLength));
  }
  void locate(std::span<Ask> asks) const override {
    for (Ask& ask : asks) {
      // Passes of later epochs go on where those of the epoch before ended. Endless ones have no
      // end: epochs are kept apart by their upper bits.
      const std::uint64_t before = passes_ ? ask.epoch * *passes_ : ask.epoch << 32;
      ask.epoch = before + ask.position / pass_;
      ask.position %= pass_;
    }
    child_->locate(asks);
  }
  void substitute(Ask ask, RandomStream& random) const override {
    ask.epoch = passes_ ? ask.epoch * *passes_ : ask.epoch << 32;
    ask.epoch += ask.position / pass_;
    ask.position %= pass_;
    child_->substitute(ask, random);
  }

 private:
  std::uint64_t pass_;
  Length passes_;
};

class Subset final : public Over {
 public:
  Subset(NodePtr child, std::shared_ptr<const Bitmap> keep)
      : Over(std::move(child), "subset"), keep_(std::move(keep)) {
    length = keep_->count();
    Digest all;
    for (const std::uint64_t word : keep_->words()) all.add(word);
    tell(all.value());
  }
  void locate(std::span<Ask> asks) const override {
    for (Ask& ask : asks) ask.position = keep_->select(ask.position);
    child_->locate(asks);
  }

 private:
  std::shared_ptr<const Bitmap> keep_;
};

class Concat final : public Node {
 public:
  explicit Concat(std::vector<NodePtr> parts) : parts_(std::move(parts)) {
    Digest all;
    all.add("concat");
    leaves = 0;
    std::uint64_t total = 0;
    for (const NodePtr& part : parts_) {
      starts_.push_back(total);
      total += part->length.value_or(0);
      width = std::max(width, part->width);
      leaves += part->leaves;
      all.add(part->digest);
    }
    length = parts_.back()->length ? Length(total) : Length();
    digest = all.value();
  }
  void locate(std::span<Ask> asks) const override {
    std::vector<std::vector<Ask>> groups(parts_.size());
    for (const Ask& ask : asks) {
      const std::size_t part = part_of(ask.position);
      groups[part].push_back({0, ask.position - starts_[part], ask.out});
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i]->locate(groups[i]);
  }
  void substitute(Ask ask, RandomStream& random) const override {
    const std::size_t part = part_of(ask.position);
    parts_[part]->substitute({0, ask.position - starts_[part], ask.out}, random);
  }

 private:
  std::size_t part_of(std::uint64_t position) const {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), position);
    return static_cast<std::size_t>(after - starts_.begin()) - 1;
  }
  std::vector<NodePtr> parts_;
  std::vector<std::uint64_t> starts_;
};

class Zip final : public Node {
 public:
  explicit Zip(std::vector<NodePtr> parts) : parts_(std::move(parts)) {
    Digest all;
    all.add("zip");
    width = leaves = 0;
    for (const NodePtr& part : parts_) {
      if (part->length) length = part->length;
      width += part->width;
      leaves += part->leaves;
      all.add(part->digest);
    }
    digest = all.value();
  }
  void locate(std::span<Ask> asks) const override {
    std::vector<Ask> group(asks.size());
    std::size_t before = 0;
    for (const NodePtr& part : parts_) {
      for (std::size_t i = 0; i < asks.size(); ++i) {
        group[i] = {0, asks[i].position, asks[i].out + before};
      }
      part->locate(group);
      before += part->width;
    }
  }
  void substitute(Ask ask, RandomStream& random) const override {
    locate_any(ask, length.value_or(std::uint64_t{1} << 32), random);
  }

 private:
  std::vector<NodePtr> parts_;
};

// The child's own order; only the numbers of leaves differ.
class Renumbered final : public Over {
 public:
  Renumbered(NodePtr child, std::uint32_t by) : Over(std::move(child), ""), by_(by) {
    digest = child_->digest;
  }
  void locate(std::span<Ask> asks) const override {
    std::vector<Place*> places;  // asks are overwritten on the way down
    places.reserve(asks.size());
    for (const Ask& ask : asks) places.push_back(ask.out);
    child_->locate(asks);
    for (Place* place : places) renumber(place);
  }
  void substitute(Ask ask, RandomStream& random) const override {
    child_->substitute(ask, random);
    renumber(ask.out);
  }

 private:
  void renumber(Place* first) const {
    for (Place& place : std::span(first, width)) {
      if (place.leaf != Place::kNone) place.leaf += by_;
    }
  }
  std::uint32_t by_;
};

}  // namespace

void Over::substitute(Ask ask, RandomStream& random) const {
  constexpr int kTries = 256;
  Ask first = ask;
  locate(std::span(&first, 1));
  const std::uint32_t wanted = ask.out->leaf;
  const bool alike = leaves == width;  // any row will do
  for (int k = 0; k < kTries; ++k) {
    locate_any(ask, length.value_or(std::uint64_t{1} << 32), random);
    if (alike || ask.out->leaf == wanted) return;
  }
}

}  // namespace order

using order::bad;
using order::Length;
using order::Node;
using order::NodePtr;

Result<Order> Order::leaf(std::uint32_t number, std::uint64_t n) {
  if (n > kMaxLength) return bad("a source of " + std::to_string(n) + " records is too long");
  return Order(std::make_shared<order::Leaf>(number, n));
}

Result<Order> Order::of(Result<NodePtr> node) {
  if (!node) return std::move(node).error();
  return Order(*std::move(node));
}

Result<Order> Order::shuffle(std::uint64_t seed) const {
  return of(order::make_shuffle(node_, seed));
}

Result<Order> Order::shuffle_windows(std::uint64_t seed, std::uint64_t window,
                                     std::uint64_t block) const {
  return of(order::make_windows(node_, seed, window, block));
}

Result<Order> Order::take(std::uint64_t n) const {
  n = std::min(n, length().value_or(kMaxLength));
  return Order(std::make_shared<order::Cut>(node_, 0, n));
}

Result<Order> Order::skip(std::uint64_t n) const {
  const Length all = length();
  if (all) n = std::min(n, *all);
  if (n > kMaxLength) return bad("skip: " + std::to_string(n) + " is too many");
  return Order(std::make_shared<order::Cut>(node_, n, all ? Length(*all - n) : Length()));
}

Result<Order> Order::repeat(std::optional<std::uint64_t> n) const {
  if (!length()) return bad("repeat: the dataset is endless already");
  if (*length() == 0) return bad("repeat: the dataset is empty");
  if (n && (*n == 0 || *n > kMaxLength / *length())) {
    return bad("repeat: n is " + std::to_string(*n) +
               "; give 1 or more, or nothing to repeat without end");
  }
  return Order(std::make_shared<order::Repeat>(node_, n));
}

Result<Order> Order::subset(std::shared_ptr<const Bitmap> keep) const {
  if (!length() || keep->size() != *length()) {
    return bad("subset: there are " + std::to_string(keep->size()) + " bits for " +
               (length() ? std::to_string(*length()) : "an endless number of") + " samples");
  }
  return Order(std::make_shared<order::Subset>(node_, std::move(keep)));
}

Result<Order> Order::sample(std::vector<double> weights, std::uint64_t n,
                            std::uint64_t seed) const {
  return of(order::make_sample(node_, std::move(weights), n, seed));
}

Result<Order> Order::concat(const std::vector<Order>& parts) {
  if (parts.empty()) return bad("concat: there is nothing to join");
  std::uint64_t total = 0;
  std::vector<NodePtr> nodes;
  for (const Order& part : parts) {
    if (!part.length() && &part != &parts.back()) {
      return bad("concat: an endless dataset can only be the last one");
    }
    if (part.length().value_or(0) > kMaxLength - total) return bad("concat: too many samples");
    total += part.length().value_or(0);
    nodes.push_back(part.node_);
  }
  return Order(std::make_shared<order::Concat>(std::move(nodes)));
}

Result<Order> Order::zip(const std::vector<Order>& parts) {
  if (parts.empty()) return bad("zip: there is nothing to join");
  Length length;
  std::vector<NodePtr> nodes;
  for (const Order& part : parts) {
    if (length && part.length() && *length != *part.length()) {
      return bad("zip: the datasets have " + std::to_string(*length) + " and " +
                 std::to_string(*part.length()) + " samples; cut the longer one with take()");
    }
    if (part.length()) length = part.length();
    nodes.push_back(part.node_);
  }
  return Order(std::make_shared<order::Zip>(std::move(nodes)));
}

Result<Order> Order::mix(const std::vector<Order>& parts, const std::vector<double>& weights,
                         std::uint64_t seed, bool endless) {
  std::vector<NodePtr> nodes;
  for (const Order& part : parts) nodes.push_back(part.node_);
  return of(order::make_mix(std::move(nodes), weights, seed, endless));
}

Order Order::renumbered(std::uint32_t by) const {
  return by == 0 ? *this : Order(std::make_shared<order::Renumbered>(node_, by));
}

std::optional<std::uint64_t> Order::length() const noexcept {
  return node_->length;
}
std::size_t Order::width() const noexcept {
  return node_->width;
}
std::size_t Order::leaves() const noexcept {
  return node_->leaves;
}
bool Order::shuffled() const noexcept {
  return node_->shuffled;
}
std::uint64_t Order::digest() const noexcept {
  return node_->digest;
}

void Order::locate(std::uint64_t epoch, std::uint64_t start, std::uint64_t stride,
                   std::span<Place> out) const {
  std::vector<order::Ask> asks(out.size() / width());
  for (std::size_t i = 0; i < asks.size(); ++i) {
    asks[i] = {epoch, start + i * stride, &out[i * width()]};
  }
  node_->locate(asks);
}

void Order::locate(std::uint64_t epoch, std::uint64_t position, std::span<Place> out) const {
  order::Ask ask{epoch, position, out.data()};
  node_->locate(std::span(&ask, 1));
}

void Order::substitute(std::uint64_t epoch, std::uint64_t position, std::uint64_t seed,
                       std::uint32_t draw, std::span<Place> out) const {
  // Far from the numbers that row work takes for the same row.
  RandomStream random(RandomKey(seed, epoch), position, 0xFFFF0000u + draw);
  node_->substitute({epoch, position, out.data()}, random);
}

}  // namespace penstock::data
