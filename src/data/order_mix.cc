// Mixing by weight: each period of positions has a fixed number of every part, in an order keyed by
// the period's number. A part's own rows come in their own order.
#include <cmath>
#include <numeric>

#include "data/order_node.h"
#include "penstock/permutation.h"

namespace penstock::data::order {
namespace {

constexpr std::uint64_t kMostPeriod = 4096;

// Whole numbers in the proportion of the weights, as small as they can be if their sum is to be at
// most kMostPeriod; nearly so, by largest remainders and with 1 at least, if they cannot.
std::vector<std::uint64_t> counts_of(const std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::uint64_t> counts(weights.size());
  for (std::uint64_t period = weights.size(); period <= kMostPeriod; ++period) {
    bool exact = true;
    for (std::size_t i = 0; exact && i < weights.size(); ++i) {
      const double share = weights[i] / sum * static_cast<double>(period);
      counts[i] = static_cast<std::uint64_t>(std::llround(share));
      exact = counts[i] > 0 && std::abs(share - std::round(share)) < 1e-9 * share;
    }
    if (exact) return counts;
  }
  std::vector<std::pair<double, std::size_t>> remainders;
  std::uint64_t used = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double share = weights[i] / sum * static_cast<double>(kMostPeriod);
    counts[i] = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(share));
    remainders.emplace_back(static_cast<double>(counts[i]) - share, i);
    used += counts[i];
  }
  std::sort(remainders.begin(), remainders.end());
  for (std::size_t k = 0; used < kMostPeriod; ++k, ++used) {
    counts[remainders[k % remainders.size()].second]++;
  }
  while (used > kMostPeriod) {  // many parts were raised to 1: the largest gives
    --*std::max_element(counts.begin(), counts.end());
    --used;
  }
  return counts;
}

class Mix final : public Node {
 public:
  Mix(std::vector<NodePtr> parts, std::vector<std::uint64_t> counts, std::uint64_t seed,
      bool endless)
      : parts_(std::move(parts)),
        counts_(std::move(counts)),
        period_(std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0})),
        seed_(seed),
        endless_(endless) {
    Digest all;
    all.add("mix").add(seed).add(std::uint64_t{endless});
    leaves = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      width = std::max(width, parts_[i]->width);
      leaves += parts_[i]->leaves;
      all.add(parts_[i]->digest).add(counts_[i]);
    }
    digest = all.value();
    if (!endless) length = end();
  }

  void locate(std::span<Ask> asks) const override {
    std::vector<std::vector<Ask>> groups(parts_.size());
    std::uint64_t known = ~std::uint64_t{0};
    std::vector<Turn> turns;
    for (const Ask& ask : asks) {
      const std::uint64_t number = ask.position / period_;
      if (number != known) turns = turns_of(known = number);
      const auto [part, inner] = inner_ask(ask, turns);
      groups[part].push_back(inner);
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i]->locate(groups[i]);
  }

  void substitute(Ask ask, RandomStream& random) const override {
    const auto [part, inner] = inner_ask(ask, turns_of(ask.position / period_));
    parts_[part]->substitute(inner, random);
  }

 private:
  struct Turn {  // whose a position of a period is, and how many of that part came before it
    std::uint32_t part = 0, before = 0;
  };

  std::vector<Turn> turns_of(std::uint64_t number) const {
    std::vector<std::uint64_t> cards(period_);
    std::iota(cards.begin(), cards.end(), 0);
    (void)Permutation::make(period_, seed_, 0, number)->fill(0, cards);  // always fits
    std::vector<std::uint32_t> owners;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      owners.insert(owners.end(), counts_[i], static_cast<std::uint32_t>(i));
    }
    std::vector<std::uint32_t> seen(counts_.size());
    std::vector<Turn> turns(period_);
    for (std::size_t i = 0; i < turns.size(); ++i) {
      const std::uint32_t part = owners[cards[i]];
      turns[i] = {part, seen[part]++};
    }
    return turns;
  }

  std::pair<std::size_t, Ask> inner_ask(const Ask& ask, const std::vector<Turn>& turns) const {
    const Turn turn = turns[ask.position % period_];
    const std::uint64_t nth = ask.position / period_ * counts_[turn.part] + turn.before;
    const Length pass = endless_ ? parts_[turn.part]->length : Length();
    return {turn.part, pass ? Ask{nth / *pass, nth % *pass, ask.out} : Ask{0, nth, ask.out}};
  }

  // The first position at which a part that has run out would be next.
  Length end() const {
    Length first;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!parts_[i]->length) continue;
      const std::uint64_t full = *parts_[i]->length / counts_[i];
      const std::uint64_t rest = *parts_[i]->length % counts_[i];
      const std::vector<Turn> turns = turns_of(full);
      const auto next = std::find_if(turns.begin(), turns.end(), [&](const Turn& turn) {
        return turn.part == i && turn.before == rest;
      });
      const std::uint64_t at = full * period_ + static_cast<std::uint64_t>(next - turns.begin());
      first = std::min(first.value_or(at), at);
    }
    return first;
  }

  std::vector<NodePtr> parts_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t period_, seed_;
  bool endless_;
};

}  // namespace

Result<NodePtr> make_mix(std::vector<NodePtr> parts, const std::vector<double>& weights,
                         std::uint64_t seed, bool endless) {
  if (parts.empty() || parts.size() > kMostPeriod) {
    return bad("mix: give from 1 to " + std::to_string(kMostPeriod) + " datasets, not " +
               std::to_string(parts.size()));
  }
  if (weights.size() != parts.size()) {
    return bad("mix: there are " + std::to_string(weights.size()) + " weights for " +
               std::to_string(parts.size()) + " datasets");
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] <= 0) {
      return bad("mix: weight " + std::to_string(i) + " is " + std::to_string(weights[i]) +
                 "; weights are positive numbers");
    }
    if (parts[i]->length && *parts[i]->length == 0) {
      return bad("mix: dataset " + std::to_string(i) + " is empty");
    }
    if (parts[i]->length.value_or(0) > Order::kMaxLength / (kMostPeriod * 2)) {
      return bad("mix: dataset " + std::to_string(i) + " is too long to be mixed");
    }
  }
  return NodePtr(std::make_shared<Mix>(std::move(parts), counts_of(weights), seed, endless));
}

}  // namespace penstock::data::order
