#include <algorithm>
#include <cstring>

#include "storage/http.h"
#include "storage/source.h"
#include "storage/stream.h"

namespace penstock::storage {
namespace {

constexpr std::size_t kBegunAhead = 8;
constexpr std::size_t kRangesAhead = 16;  // of all that are begun

class PutBack final : public Stream {
 public:
  PutBack(std::span<const std::byte> start, std::unique_ptr<Stream> rest)
      : start_(start.begin(), start.end()), rest_(std::move(rest)) {}

  const std::string& name() const noexcept override { return rest_->name(); }
  std::optional<std::uint64_t> size() const noexcept override { return rest_->size(); }

  Result<std::size_t> read(std::span<std::byte> into) override {
    if (taken_ == start_.size()) return rest_->read(into);
    const std::size_t count = std::min(into.size(), start_.size() - taken_);
    std::memcpy(into.data(), start_.data() + taken_, count);
    taken_ += count;
    return count;
  }

  Status skip(std::uint64_t count) override {
    const auto first = std::size_t(std::min<std::uint64_t>(count, start_.size() - taken_));
    taken_ += first;
    return count == first ? Status() : rest_->skip(count - first);
  }

 private:
  std::vector<std::byte> start_;
  std::size_t taken_ = 0;
  std::unique_ptr<Stream> rest_;
};

}  // namespace

struct StreamQueue::Begun {
  Result<std::unique_ptr<HttpStream>> stream;
};

StreamQueue::StreamQueue(std::vector<std::string> names)
    : names_(std::move(names)), begun_(std::make_shared<std::deque<Begun>>()) {}
StreamQueue::~StreamQueue() = default;

Result<std::unique_ptr<Stream>> StreamQueue::open_next() {
  const std::string& path = names_[next_++];
  if (!is_url(path)) return open_stream(path);
  begun_until_ = std::max(begun_until_, next_ - 1);
  while (begun_until_ < names_.size() && begun_until_ < next_ + kBegunAhead &&
         is_url(names_[begun_until_])) {
    begun_->push_back({HttpStream::begin(names_[begun_until_++])});
  }
  Begun mine = std::move(begun_->front());
  begun_->pop_front();
  if (!mine.stream) return mine.stream.error();
  if (Status status = (*mine.stream)->ready(); !status) return std::move(status).error();
  (*mine.stream)->on_progress([ahead = begun_] {
    std::size_t room = kRangesAhead;
    for (const Begun& one : *ahead) {
      if (one.stream && room > 0) room -= std::min(room, (*one.stream)->go_on(room));
    }
  });
  return std::unique_ptr<Stream>(*std::move(mine.stream));
}

std::unique_ptr<Stream> put_back(std::span<const std::byte> start, std::unique_ptr<Stream> rest) {
  return std::make_unique<PutBack>(start, std::move(rest));
}

}  // namespace penstock::storage
