#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

#include "storage/http.h"
#include "storage/http_client.h"
#include "storage/wait.h"

namespace penstock::storage {
namespace {

constexpr std::size_t kChunk = std::size_t(1) << 20;
constexpr std::size_t kAhead = 16;  // chunks under way or ready

// A range and what became of it. The request holds it too: it may outlive the stream.
struct Chunk {
  std::mutex mutex;
  std::condition_variable ready;
  std::vector<std::byte> bytes;
  std::optional<Result<HttpAnswer>> answer;

  bool is_there() {
    const std::lock_guard lock(mutex);
    return answer.has_value();
  }
  const Result<HttpAnswer>& wait(std::atomic<bool>& abandoned) {
    std::unique_lock lock(mutex);
    wait_unless_stopped(ready, lock, abandoned, [&] { return answer.has_value(); });
    return *answer;
  }
};
using ChunkPtr = std::shared_ptr<Chunk>;

class ReadAhead final : public HttpStream {
 public:
  ReadAhead(std::string url, std::shared_ptr<HttpClient> client)
      : url_(std::move(url)), client_(std::move(client)) {
    ask(kChunk);
  }
  ~ReadAhead() override { *abandoned_ = true; }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  const std::string& name() const noexcept override { return url_; }
  std::optional<std::uint64_t> size() const noexcept override { return size_; }

  Status ready() override {
    most_ = kAhead;
    if (Status status = learn(); !status) return status;
    ask_ahead();
    return {};
  }

  std::size_t go_on(std::size_t most) override {
    most_ = std::max(most_, most);
    if (size_) {
      ask_ahead();
    } else if (!chunks_.empty() && chunks_.front()->is_there()) {
      (void)learn();  // a failure is told to the reader
    }
    return chunks_.size();
  }

  void on_progress(std::function<void()> call) override { progress_ = std::move(call); }

  Result<std::size_t> read(std::span<std::byte> into) override {
    if (failure_) return *failure_;
    if (Status status = learn(); !status) return std::move(status).error();
    if (position_ >= *size_) return std::size_t(0);
    if (Status status = wait_for_front(); !status) return std::move(status).error();
    const HttpAnswer& answer = **chunks_.front()->answer;
    if (answer.size != *size_) {
      return fail(
          Error(Code::io, "the file has another size than when it was opened").in_file(url_));
    }
    const auto from = std::size_t(position_ - front_);
    const std::size_t count = std::min(into.size(), answer.count - from);
    std::memcpy(into.data(), chunks_.front()->bytes.data() + from, count);
    position_ += count;
    if (from + count == answer.count) drop_front();
    return count;
  }

  Status skip(std::uint64_t count) override {
    if (Status status = learn(); !status) return status;
    position_ += std::min(count, *size_ - position_);
    if (position_ >= asked_) {  // nothing that is under way is of use
      abandon();
      ask_ahead();
    }
    while (!chunks_.empty() && front_ + kChunk <= position_) drop_front();
    return {};
  }

 private:
  // Size and version, which the first answer tells.
  Status learn() {
    if (size_) return {};
    if (Status status = wait_for_front(); !status) return status;
    const HttpAnswer& answer = **chunks_.front()->answer;
    size_ = answer.size;
    version_ = answer.version;
    ask_ahead();
    return {};
  }

  // Until the chunk at the position is there. If a pipeline that is being stopped broke it off, it
  // can be asked for again.
  Status wait_for_front() {
    if (failure_) return *failure_;
    if (chunks_.empty()) ask(kChunk);
    const Result<HttpAnswer>& answer = chunks_.front()->wait(*abandoned_);
    if (answer) return {};
    const Error error = answer.error();
    if (!*abandoned_) return fail(error);
    abandon();
    return error;
  }

  // What is under way.
  void abandon() {
    *abandoned_ = true;
    abandoned_ = std::make_shared<std::atomic<bool>>(false);
    chunks_.clear();
    front_ = asked_ = position_;
  }

  void drop_front() {
    chunks_.pop_front();
    front_ += kChunk;
    ask_ahead();
    if (progress_) progress_();
  }

  void ask_ahead() {
    while (chunks_.size() < most_ && asked_ < *size_ && asked_ <= position_ + most_ * kChunk) {
      ask(std::size_t(std::min<std::uint64_t>(kChunk, *size_ - asked_)));
    }
  }

  void ask(std::size_t bytes) {
    const auto chunk = std::make_shared<Chunk>();
    chunk->bytes.resize(bytes);
    client_->start({url_, asked_, chunk->bytes, version_, abandoned_},
                   [chunk](Result<HttpAnswer> answer) {
                     const std::lock_guard lock(chunk->mutex);
                     chunk->answer = std::move(answer);
                     chunk->ready.notify_one();
                   });
    chunks_.push_back(chunk);
    asked_ += kChunk;
  }

  Error fail(Error error) {
    failure_ = error;
    return error;
  }

  std::string url_;
  std::shared_ptr<HttpClient> client_;
  std::optional<std::uint64_t> size_;
  std::string version_;
  std::deque<ChunkPtr> chunks_;
  std::shared_ptr<std::atomic<bool>> abandoned_ = std::make_shared<std::atomic<bool>>(false);
  std::uint64_t front_ = 0;     // where the first chunk begins
  std::uint64_t asked_ = 0;     // where the next one will
  std::uint64_t position_ = 0;  // of the reader
  std::size_t most_ = 1;        // chunks under way or ready
  std::function<void()> progress_;
  std::optional<Error> failure_;
};

}  // namespace

Result<std::unique_ptr<HttpStream>> HttpStream::begin(std::string url) {
  const Result<std::shared_ptr<HttpClient>> client = HttpClient::shared();
  if (!client) return client.error();
  return std::unique_ptr<HttpStream>(std::make_unique<ReadAhead>(std::move(url), *client));
}

}  // namespace penstock::storage
