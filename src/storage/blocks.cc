#include "storage/blocks.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <mutex>
#include <vector>

namespace penstock::storage {
namespace {

constexpr std::uint64_t kBlock = std::uint64_t(64) << 10;
constexpr std::size_t kMostBlocks = 64;

class Blocks final : public Source {
 public:
  explicit Blocks(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  const std::string& name() const noexcept override { return source_->name(); }
  Stamp stamp() const noexcept override { return source_->stamp(); }

  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    if (into.size() > kBlock || offset > size() || into.size() > size() - offset) {
      return source_->read(offset, into);
    }
    const std::lock_guard hold(mutex_);
    while (!into.empty()) {
      const Result<const std::vector<std::byte>*> block = get(offset / kBlock);
      if (!block) return block.error();
      const auto at = std::size_t(offset % kBlock);
      const std::size_t count = std::min(into.size(), (*block)->size() - at);
      std::memcpy(into.data(), (*block)->data() + at, count);
      into = into.subspan(count);
      offset += count;
    }
    return {};
  }

  void read_batch(std::span<const Read> reads, std::span<Status> outcomes) const override {
    source_->read_batch(reads, outcomes);
  }

 private:
  struct Block {
    std::uint64_t number = 0;
    std::vector<std::byte> bytes;
  };

  Result<const std::vector<std::byte>*> get(std::uint64_t number) const {
    const auto known = std::find_if(kept_.begin(), kept_.end(),
                                    [&](const Block& block) { return block.number == number; });
    if (known != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, known);
      return &kept_.front().bytes;
    }
    const std::uint64_t start = number * kBlock;
    Block block{number, std::vector<std::byte>(std::size_t(std::min(kBlock, size() - start)))};
    if (Status status = source_->read(start, block.bytes); !status) {
      return std::move(status).error();
    }
    if (kept_.size() == kMostBlocks) kept_.pop_back();
    kept_.push_front(std::move(block));
    return &kept_.front().bytes;
  }

  std::shared_ptr<const Source> source_;
  mutable std::mutex mutex_;
  mutable std::list<Block> kept_;  // the last one that was used first
};

}  // namespace

std::shared_ptr<const Source> in_blocks(std::shared_ptr<const Source> source) {
  return std::make_shared<const Blocks>(std::move(source));
}

}  // namespace penstock::storage
