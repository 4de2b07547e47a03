// What the nodes of an Order have in common. Questions go down the tree in groups, so that a node
// sets itself up once for many of them.
//
// Thread safety: nodes are immutable.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/digest.h"
#include "data/order.h"
#include "penstock/random.h"

namespace penstock::data::order {

// A position of a node in an epoch, and where its answer goes. Nodes rewrite it for their child.
struct Ask {
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;
  Place* out = nullptr;
};

using Length = std::optional<std::uint64_t>;
using NodePtr = std::shared_ptr<const class Node>;

class Node {
 public:
  virtual ~Node() = default;

  // Answers all; positions are below length(). `asks` is the callee's to overwrite.
  virtual void locate(std::span<Ask> asks) const = 0;

  // One other row from the leaf that `ask` leads to; see Order::substitute.
  virtual void substitute(Ask ask, RandomStream& random) const = 0;

  Length length;
  std::size_t width = 1;   // places per row
  std::size_t leaves = 1;  // in the tree below
  bool shuffled = false;   // depends on the epoch
  std::uint64_t digest = 0;

 protected:
  // Any position of this node: right where all of its rows come from one leaf, or belong together.
  void locate_any(Ask ask, std::uint64_t among, RandomStream& random) const {
    ask.position = random.below(among);
    locate(std::span(&ask, 1));
  }
};

// A node over one child.
class Over : public Node {
 public:
  Over(NodePtr child, std::string_view name) : child_(std::move(child)) {
    length = child_->length;
    width = child_->width;
    leaves = child_->leaves;
    shuffled = child_->shuffled;
    digest = Digest().add(name).add(child_->digest).value();
  }

  // Where several leaves are mixed below, positions are tried until one leads to the same leaf.
  void substitute(Ask ask, RandomStream& random) const override;

 protected:
  template <class... Parts>
  void tell(Parts... parts) {  // what else makes this node what it is
    Digest all;
    all.add(digest);
    (all.add(parts), ...);
    digest = all.value();
  }
  NodePtr child_;
};

Result<NodePtr> make_shuffle(NodePtr child, std::uint64_t seed);
Result<NodePtr> make_windows(NodePtr child, std::uint64_t seed, std::uint64_t window,
                             std::uint64_t block);
Result<NodePtr> make_sample(NodePtr child, std::vector<double> weights, std::uint64_t n,
                            std::uint64_t seed);
Result<NodePtr> make_mix(std::vector<NodePtr> parts, const std::vector<double>& weights,
                         std::uint64_t seed, bool endless);

inline Error bad(std::string message) {
  return Error(Code::invalid_argument, std::move(message));
}

}  // namespace penstock::data::order
