// Shuffles by keyed permutations: of everything, or of blocks and inside windows of blocks.
#include "data/order_node.h"
#include "penstock/permutation.h"

namespace penstock::data::order {
namespace {

// What permutations of one epoch are for; see penstock/permutation.h.
constexpr std::uint64_t kAll = 0, kBlocks = 1, kFirstWindow = 2;

Permutation permutation(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch,
                        std::uint64_t stream) {
  return *Permutation::make(std::max<std::uint64_t>(n, 1), seed, epoch, stream);
}

class Shuffle final : public Over {
 public:
  Shuffle(NodePtr child, std::uint64_t seed) : Over(std::move(child), "shuffle"), seed_(seed) {
    shuffled = true;
    tell(seed);
  }

  void locate(std::span<Ask> asks) const override {
    std::vector<std::uint64_t> numbers;
    for (std::size_t first = 0; first < asks.size();) {
      std::size_t last = first + 1;
      while (last < asks.size() && asks[last].epoch == asks[first].epoch) ++last;
      permute(asks.subspan(first, last - first), numbers);
      first = last;
    }
    child_->locate(asks);
  }

 private:
  // Positions of one epoch. Those of a rank's batch are evenly spaced, which is done at once.
  void permute(std::span<Ask> asks, std::vector<std::uint64_t>& numbers) const {
    const Permutation order = permutation(*length, seed_, asks[0].epoch, kAll);
    const std::uint64_t stride = asks.size() > 1 ? asks[1].position - asks[0].position : 0;
    bool even = asks.size() > 1 && asks[1].position > asks[0].position;
    for (std::size_t i = 2; even && i < asks.size(); ++i) {
      even = asks[i].position - asks[i - 1].position == stride;
    }
    numbers.resize(even ? asks.size() : 0);
    if (even && order.fill_strided(asks[0].position, stride, numbers).ok()) {
      for (std::size_t i = 0; i < asks.size(); ++i) asks[i].position = numbers[i];
    } else {
      for (Ask& ask : asks) ask.position = order.permute(ask.position);
    }
  }
  std::uint64_t seed_;
};

class Windows final : public Over {
 public:
  Windows(NodePtr child, std::uint64_t seed, std::uint64_t window, std::uint64_t block)
      : Over(std::move(child), "windows"),
        seed_(seed),
        block_(block),
        per_window_(std::max<std::uint64_t>(1, window / block)),
        blocks_((*length + block - 1) / block),
        missing_(blocks_ * block - *length) {
    shuffled = true;
    tell(seed, block, per_window_);
  }

  void locate(std::span<Ask> asks) const override {
    // Neighbours mostly share epoch and window: each is set up when it changes.
    std::optional<Epoch> epoch;
    std::optional<Window> window;
    for (Ask& ask : asks) {
      if (!epoch || epoch->number != ask.epoch) {
        epoch.emplace(*this, ask.epoch);
        window.reset();
      }
      const std::uint64_t place = padded(*epoch, ask.position) / (per_window_ * block_);
      if (!window || window->number != place) window.emplace(*this, *epoch, place);
      ask.position = record_at(*epoch, *window, ask.position);
    }
    child_->locate(asks);
  }

 private:
  // The last block may be short, and the shuffled order has it at `short_at`.
  struct Epoch {
    Epoch(const Windows& node, std::uint64_t epoch)
        : number(epoch),
          blocks(permutation(node.blocks_, node.seed_, epoch, kBlocks)),
          short_at(node.missing_ == 0 ? Order::kMaxLength : blocks.invert(node.blocks_ - 1)) {}
    std::uint64_t number;
    Permutation blocks;
    std::uint64_t short_at;
  };
  struct Window {
    Window(const Windows& node, const Epoch& epoch, std::uint64_t place)
        : number(place),
          start(node.unpadded(epoch, place * node.per_window_)),
          inside(permutation(
              node.unpadded(epoch, std::min((place + 1) * node.per_window_, node.blocks_)) - start,
              node.seed_, epoch.number, kFirstWindow + place)) {}
    std::uint64_t number;
    std::uint64_t start;  // its first position
    Permutation inside;
  };

  // Positions count records; padded ones count as if every block were full.
  std::uint64_t padded(const Epoch& epoch, std::uint64_t position) const {
    const bool after =
        epoch.short_at < blocks_ && position >= (epoch.short_at + 1) * block_ - missing_;
    return position + (after ? missing_ : 0);
  }
  // The position at which the block at `place` of the shuffled order begins.
  std::uint64_t unpadded(const Epoch& epoch, std::uint64_t place) const {
    return place * block_ - (place > epoch.short_at ? missing_ : 0);
  }
  std::uint64_t record_at(const Epoch& epoch, const Window& window, std::uint64_t position) const {
    const std::uint64_t moved = window.start + window.inside.permute(position - window.start);
    const std::uint64_t at = padded(epoch, moved);
    return epoch.blocks.permute(at / block_) * block_ + at % block_;
  }

  std::uint64_t seed_, block_, per_window_, blocks_;
  std::uint64_t missing_;  // records that the last block lacks
};

}  // namespace

Result<NodePtr> make_shuffle(NodePtr child, std::uint64_t seed) {
  if (!child->length) {
    return bad("shuffle: an endless dataset has no global shuffle; shuffle before repeat()");
  }
  return NodePtr(std::make_shared<Shuffle>(std::move(child), seed));
}

Result<NodePtr> make_windows(NodePtr child, std::uint64_t seed, std::uint64_t window,
                             std::uint64_t block) {
  if (!child->length) {
    return bad("shuffle: shuffle before repeat(), which makes the dataset endless");
  }
  if (window < 1 || window > (std::uint64_t{1} << 48)) {
    return bad("shuffle: window is " + std::to_string(window) + "; give a number of samples");
  }
  if (block == 0) block = std::max<std::uint64_t>(1, window / 16);
  if (block > window) block = window;
  return NodePtr(std::make_shared<Windows>(std::move(child), seed, window, block));
}

}  // namespace penstock::data::order
