// Draws with replacement, in proportion to weights: Walker's alias method, so that a draw takes two
// table look-ups however many weights there are.
#include <cmath>

#include "data/order_node.h"

namespace penstock::data::order {
namespace {

class Sample final : public Over {
 public:
  Sample(NodePtr child, const std::vector<double>& weights, std::uint64_t n, std::uint64_t seed)
      : Over(std::move(child), "sample"), seed_(seed), table_(weights.size()) {
    length = n;
    shuffled = true;
    Digest all;
    double sum = 0;
    for (const double weight : weights) {
      all.add(weight);
      sum += weight;
    }
    tell(all.value(), n, seed);

    // Positions that hold more than the mean fill up those that hold less.
    std::vector<double> share(weights.size());
    std::vector<std::uint64_t> poor, rich;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      share[i] = weights[i] / sum * static_cast<double>(weights.size());
      table_[i] = {1.0, i};
      (share[i] < 1.0 ? poor : rich).push_back(i);
    }
    while (!poor.empty() && !rich.empty()) {
      const std::uint64_t low = poor.back(), high = rich.back();
      poor.pop_back();
      table_[low] = {share[low], high};
      share[high] -= 1.0 - share[low];
      if (share[high] < 1.0) {
        rich.pop_back();
        poor.push_back(high);
      }
    }
  }

  void locate(std::span<Ask> asks) const override {
    for (Ask& ask : asks) {
      RandomStream random(RandomKey(seed_, ask.epoch), ask.position);
      const std::uint64_t i = random.below(table_.size());
      ask.position = random.uniform() < table_[i].keep ? i : table_[i].other;
    }
    child_->locate(asks);
  }

 private:
  struct Entry {
    double keep = 1.0;
    std::uint64_t other = 0;
  };
  std::uint64_t seed_;
  std::vector<Entry> table_;
};

}  // namespace

Result<NodePtr> make_sample(NodePtr child, std::vector<double> weights, std::uint64_t n,
                            std::uint64_t seed) {
  if (!child->length) return bad("sample: the dataset is endless; sample before repeat()");
  if (weights.size() != *child->length) {
    return bad("sample: there are " + std::to_string(weights.size()) + " weights for " +
               std::to_string(*child->length) + " samples");
  }
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0) {
      return bad("sample: weight " + std::to_string(i) + " is " + std::to_string(weights[i]) +
                 "; weights are numbers from 0 up");
    }
    sum += weights[i];
  }
  if (!std::isfinite(sum) || sum <= 0) return bad("sample: all weights are 0");
  if (n > Order::kMaxLength) return bad("sample: n is too large");
  return NodePtr(std::make_shared<Sample>(std::move(child), weights, n, seed));
}

}  // namespace penstock::data::order
