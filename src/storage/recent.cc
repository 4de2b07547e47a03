#include "storage/recent.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

namespace penstock::storage {
namespace {

constexpr std::uint64_t kLeast = std::uint64_t(256) << 10;
constexpr std::uint64_t kMost = std::uint64_t(1) << 20;
constexpr std::uint64_t kMostKept = std::uint64_t(8) << 20;

class Recent final : public Source {
 public:
  explicit Recent(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  const std::string& name() const noexcept override { return source_->name(); }
  Stamp stamp() const noexcept override { return source_->stamp(); }

  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    if (offset > size() || into.size() > size() - offset) return source_->read(offset, into);
    const std::lock_guard hold(mutex_);
    while (!into.empty()) {
      const Result<const Part*> part = get(offset);
      if (!part) return part.error();
      const auto at = std::size_t(offset - (*part)->offset);
      const std::size_t count = std::min(into.size(), (*part)->bytes.size() - at);
      std::memcpy(into.data(), (*part)->bytes.data() + at, count);
      into = into.subspan(count);
      offset += count;
    }
    return {};
  }

  void read_batch(std::span<const Read> reads, std::span<Status> outcomes) const override {
    source_->read_batch(reads, outcomes);
  }

 private:
  struct Part {
    std::uint64_t offset = 0;
    std::vector<std::byte> bytes;
    bool has(std::uint64_t at) const { return at >= offset && at - offset < bytes.size(); }
  };

  // The part that holds this byte.
  Result<const Part*> get(std::uint64_t at) const {
    const auto known =
        std::find_if(kept_.begin(), kept_.end(), [at](const Part& one) { return one.has(at); });
    if (known != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, known);
      return &kept_.front();
    }
    next_size_ = at == end_ ? std::min(next_size_ * 2, kMost) : kLeast;
    std::uint64_t end = at + std::min(next_size_, size() - at);
    for (const Part& one : kept_) {
      if (one.offset > at) end = std::min(end, one.offset);
    }
    Part part{at, std::vector<std::byte>(std::size_t(end - at))};
    if (Status status = source_->read(at, part.bytes); !status) return std::move(status).error();
    end_ = end;
    bytes_ += part.bytes.size();
    kept_.push_front(std::move(part));
    while (bytes_ > kMostKept) {
      bytes_ -= kept_.back().bytes.size();
      kept_.pop_back();
    }
    return &kept_.front();
  }

  std::shared_ptr<const Source> source_;
  mutable std::mutex mutex_;
  mutable std::list<Part> kept_;  // the one that was used last comes first; none overlap
  mutable std::uint64_t bytes_ = 0;
  mutable std::uint64_t end_ = 0;  // of what was fetched last
  mutable std::uint64_t next_size_ = kLeast / 2;
};

}  // namespace

std::shared_ptr<const Source> keep_recent(std::shared_ptr<const Source> source) {
  return std::make_shared<const Recent>(std::move(source));
}

}  // namespace penstock::storage
