#include <xxhash.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "storage/http.h"
#include "storage/http_client.h"

namespace penstock::storage {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t(4) << 20;  // larger reads become several requests

// For a URL the time is a number made of its version.
Stamp stamp_from(const HttpAnswer& answer) noexcept {
  const std::uint64_t hash = ::XXH3_64bits(answer.version.data(), answer.version.size());
  return {answer.size, answer.version.empty() ? 0 : std::int64_t(hash >> 1)};
}

class HttpSource final : public Source {
 public:
  HttpSource(std::string url, std::shared_ptr<HttpClient> client, const HttpAnswer& answer)
      : url_(std::move(url)),
        client_(std::move(client)),
        version_(answer.version),
        stamp_(stamp_from(answer)) {}

  const std::string& name() const noexcept override { return url_; }
  Stamp stamp() const noexcept override { return stamp_; }

  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    const Read one{offset, into};
    Status outcome;
    read_batch({&one, 1}, {&outcome, 1});
    return outcome;
  }

  void read_batch(std::span<const Read> reads, std::span<Status> outcomes) const override {
    std::mutex mutex;
    std::condition_variable all_done;
    std::size_t left = 0;
    for (std::size_t i = 0; i < reads.size(); ++i) {
      outcomes[i] = check(reads[i]);
      if (!outcomes[i].ok()) continue;
      for (std::size_t done = 0; done < reads[i].into.size(); done += kMostAtOnce) {
        const auto part =
            reads[i].into.subspan(done, std::min(kMostAtOnce, reads[i].into.size() - done));
        {
          const std::lock_guard lock(mutex);
          ++left;
        }
        const auto take = [&, i, wanted = part.size()](Result<HttpAnswer> answer) {
          const std::lock_guard lock(mutex);
          if (!answer) {
            outcomes[i] = std::move(answer).error();
          } else if (answer->size != stamp_.size || answer->count != wanted) {
            outcomes[i] =
                Error(Code::io, "the file has another size than when it was opened").in_file(url_);
          }
          if (--left == 0) all_done.notify_one();
        };
        client_->start({url_, reads[i].offset + done, part, version_}, take);
      }
    }
    std::unique_lock lock(mutex);
    all_done.wait(lock, [&] { return left == 0; });
  }

 private:
  Status check(const Read& read) const {
    if (read.offset <= stamp_.size && read.into.size() <= stamp_.size - read.offset) return {};
    return Error(Code::io, "the read goes beyond the end of the file")
        .in_file(url_)
        .at_offset(std::int64_t(read.offset));
  }

  std::string url_;
  std::shared_ptr<HttpClient> client_;
  std::string version_;
  Stamp stamp_;
};

}  // namespace

Result<std::shared_ptr<const Source>> open_http_source(const std::string& url) {
  const Result<std::shared_ptr<HttpClient>> client = HttpClient::shared();
  if (!client) return client.error();
  std::byte first;
  const Result<HttpAnswer> answer = (*client)->get({url, 0, {&first, 1}, {}});
  if (!answer) return answer.error();
  return std::shared_ptr<const Source>(std::make_shared<const HttpSource>(url, *client, *answer));
}

}  // namespace penstock::storage
