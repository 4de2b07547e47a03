#include <xxhash.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "storage/http.h"
#include "storage/http_client.h"
#include "storage/wait.h"

namespace penstock::storage {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t(4) << 20;  // larger reads become several requests

// For a URL the time is a number made of its version.
Stamp stamp_from(const HttpAnswer& answer) noexcept {
  const std::uint64_t hash = ::XXH3_64bits(answer.version.data(), answer.version.size());
  return {answer.size, answer.version.empty() ? 0 : std::int64_t(hash >> 1)};
}

// What is under way may outlive the source: it holds what it needs of it.
struct Facts {
  std::string url;
  std::string version;  // empty: not known, or there is none; then the stamp tells
  Stamp stamp;

  Status check(const Result<HttpAnswer>& answer, std::size_t wanted) const {
    if (!answer) return answer.error();
    if (answer->size != stamp.size || answer->count != wanted) {
      return Error(Code::io, "the file has another size than when it was opened").in_file(url);
    }
    if (stamp_from(*answer) != stamp) {
      return Error(Code::io,
                   "the file was changed on the server while the dataset was open: open it again")
          .in_file(url);
    }
    return {};
  }
};

// A read that became several requests.
struct Parts {
  std::mutex mutex;
  std::size_t left = 0;
  Status outcome;
  ReadDone done;
};

class HttpSource final : public Source {
 public:
  HttpSource(std::shared_ptr<HttpClient> client, Facts facts)
      : client_(std::move(client)), facts_(std::make_shared<const Facts>(std::move(facts))) {}

  const std::string& name() const noexcept override { return facts_->url; }
  Stamp stamp() const noexcept override { return facts_->stamp; }

  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    const Read one{offset, into};
    Status outcome;
    read_batch({&one, 1}, {&outcome, 1});
    return outcome;
  }

  void read_batch(std::span<const Read> reads, std::span<Status> outcomes) const override {
    if (engine::task_is_stopping()) {
      const Error stopped = Error(Code::closed, "reading was stopped").in_file(name());
      std::fill(outcomes.begin(), outcomes.end(), Status(stopped));
      return;
    }
    std::mutex mutex;
    std::condition_variable all_done;
    std::size_t left = reads.size();
    const auto abandoned = std::make_shared<std::atomic<bool>>(false);
    for (std::size_t i = 0; i < reads.size(); ++i) {
      const auto done = [&, i](Status status) {
        const std::lock_guard lock(mutex);
        outcomes[i] = std::move(status);
        if (--left == 0) all_done.notify_one();
      };
      start(reads[i], done, abandoned);
    }
    std::unique_lock lock(mutex);
    wait_unless_stopped(all_done, lock, *abandoned, [&] { return left == 0; });
  }

  void start(const Read& read, ReadDone done, const Abandoned& abandoned) const override {
    if (Status status = check(read); !status || read.into.empty()) return done(std::move(status));
    const std::size_t size = read.into.size();
    const auto parts = std::make_shared<Parts>();
    parts->left = (size + kMostAtOnce - 1) / kMostAtOnce;
    parts->done = std::move(done);
    for (std::size_t at = 0; at < size; at += kMostAtOnce) {
      const auto part = read.into.subspan(at, std::min(kMostAtOnce, size - at));
      const auto take = [facts = facts_, parts, wanted = part.size()](Result<HttpAnswer> answer) {
        Status status = facts->check(answer, wanted);
        {
          const std::lock_guard lock(parts->mutex);
          if (!status) parts->outcome = std::move(status);
          if (--parts->left > 0) return;
        }
        parts->done(std::move(parts->outcome));
      };
      client_->start({facts_->url, read.offset + at, part, facts_->version, abandoned}, take);
    }
  }

 private:
  Status check(const Read& read) const {
    const std::uint64_t size = facts_->stamp.size;
    if (read.offset <= size && read.into.size() <= size - read.offset) return {};
    return Error(Code::io, "the read goes beyond the end of the file")
        .in_file(facts_->url)
        .at_offset(std::int64_t(read.offset));
  }

  std::shared_ptr<HttpClient> client_;
  std::shared_ptr<const Facts> facts_;
};

}  // namespace

Result<std::shared_ptr<const Source>> open_http_source(const std::string& url) {
  const Result<std::shared_ptr<HttpClient>> client = HttpClient::shared();
  if (!client) return client.error();
  std::byte first;
  const Result<HttpAnswer> answer = (*client)->get({url, 0, {&first, 1}, {}});
  if (!answer) return answer.error();
  return std::shared_ptr<const Source>(std::make_shared<const HttpSource>(
      *client, Facts{url, answer->version, stamp_from(*answer)}));
}

Result<std::shared_ptr<const Source>> open_http_source(const std::string& url, Stamp stamp) {
  const Result<std::shared_ptr<HttpClient>> client = HttpClient::shared();
  if (!client) return client.error();
  return std::shared_ptr<const Source>(
      std::make_shared<const HttpSource>(*client, Facts{url, {}, stamp}));
}

std::shared_ptr<const void> keep_connections(std::span<const std::string> names) {
  if (std::none_of(names.begin(), names.end(), [](const auto& name) { return is_url(name); })) {
    return nullptr;
  }
  const Result<std::shared_ptr<HttpClient>> client = HttpClient::shared();
  return client ? *client : nullptr;
}

}  // namespace penstock::storage
