#include "storage/http_client.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "storage/http_transfer.h"

namespace penstock::storage {
namespace {

using Clock = std::chrono::steady_clock;
using TransferPtr = std::unique_ptr<HttpTransfer>;

constexpr int kMostTries = 6;
constexpr auto kFirstPause = std::chrono::milliseconds(50);  // doubled each time

Error closed() {
  return Error(Code::closed, "the client was closed before the answer came");
}

}  // namespace

// The thread, and all that only it touches.
class HttpClient::Worker {
 public:
  Worker() : multi_(curl_multi_init()) {
    if (multi_ == nullptr) return;
    curl_multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS, long(kMostConnections));
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, long(kMostConnections));
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ~Worker() {
    if (multi_ == nullptr) return;
    if (::getpid() != owner_) {  // a forked child has no such thread, and may not touch its things
      thread_.detach();
      return;
    }
    thread_.request_stop();
    curl_multi_wakeup(multi_);
    thread_.join();
    for (CURL* easy : idle_) curl_easy_cleanup(easy);
    curl_multi_cleanup(multi_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  bool ok() const noexcept { return multi_ != nullptr; }
  pid_t owner() const noexcept { return owner_; }

  void start(TransferPtr transfer) {
    {
      const std::lock_guard lock(mutex_);
      arrived_.push_back(std::move(transfer));
    }
    curl_multi_wakeup(multi_);
  }

 private:
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      take_arrived();
      begin_due();
      int running = 0;
      curl_multi_perform(multi_, &running);
      finish();
      curl_multi_poll(multi_, nullptr, 0, milliseconds_to_wait(), nullptr);
    }
    take_arrived();
    for (TransferPtr& transfer : waiting_) transfer->done(closed());
    for (CURL* easy : active_) {
      const TransferPtr transfer = release(easy);
      transfer->done(closed());
      curl_easy_cleanup(easy);
    }
  }

  void take_arrived() {
    const std::lock_guard lock(mutex_);
    for (TransferPtr& transfer : arrived_) waiting_.push_back(std::move(transfer));
    arrived_.clear();
  }

  // Not more at a time than there are connections: what waits longer than that is in nobody's way.
  void begin_due() {
    const Clock::time_point now = Clock::now();
    for (auto next = waiting_.begin();
         next != waiting_.end() && active_.size() < std::size_t(kMostConnections);) {
      if ((*next)->request.abandoned && *(*next)->request.abandoned) {
        const TransferPtr transfer = std::move(*next);
        next = waiting_.erase(next);
        transfer->done(closed());
        continue;
      }
      if ((*next)->due > now) {
        ++next;
        continue;
      }
      CURL* easy = nullptr;
      if (!idle_.empty()) {
        easy = idle_.back();
        idle_.pop_back();
      } else {
        easy = curl_easy_init();
      }
      TransferPtr transfer = std::move(*next);
      next = waiting_.erase(next);
      if (easy == nullptr) {
        transfer->done(Error(Code::out_of_memory, "no memory for a request"));
        continue;
      }
      transfer->begin(easy);
      active_.push_back(easy);
      curl_multi_add_handle(multi_, easy);
      (void)transfer.release();  // held by the handle: CURLOPT_PRIVATE
    }
  }

  void finish() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* easy = message->easy_handle;
      const CURLcode code = message->data.result;
      TransferPtr transfer = release(easy);
      std::erase(active_, easy);
      Error last(Code::internal, "");
      std::optional<Result<HttpAnswer>> outcome = transfer->outcome(easy, code, last);
      idle_.push_back(easy);
      if (!outcome && transfer->tries < kMostTries) {
        // Those that failed together do not all come back together.
        const auto pause = kFirstPause * (1 << (transfer->tries - 1));
        transfer->due = Clock::now() + pause + pause * (++jitter_ % 8) / 16;
        waiting_.push_back(std::move(transfer));
        continue;
      }
      transfer->done(outcome ? *std::move(outcome) : Result<HttpAnswer>(std::move(last)));
    }
  }

  TransferPtr release(CURL* easy) {
    void* transfer = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
    curl_multi_remove_handle(multi_, easy);
    return TransferPtr(static_cast<HttpTransfer*>(transfer));
  }

  int milliseconds_to_wait() const {
    Clock::duration wait = std::chrono::seconds(1);
    if (active_.size() < std::size_t(kMostConnections)) {
      for (const TransferPtr& transfer : waiting_) {
        wait = std::min(wait, transfer->due - Clock::now());
      }
    }
    const auto count = std::chrono::duration_cast<std::chrono::milliseconds>(wait).count();
    return int(std::max<std::int64_t>(count + (count < 1000 ? 1 : 0), 0));
  }

  CURLM* multi_;
  pid_t owner_ = ::getpid();
  std::mutex mutex_;
  std::vector<TransferPtr> arrived_;
  std::vector<TransferPtr> waiting_;  // for a connection, or for their time
  std::vector<CURL*> active_, idle_;
  unsigned jitter_ = 0;
  std::jthread thread_;
};

HttpClient::HttpClient() : worker_(std::make_unique<Worker>()) {}
HttpClient::~HttpClient() = default;

Result<std::shared_ptr<HttpClient>> HttpClient::shared() {
  static std::mutex mutex;
  static std::weak_ptr<HttpClient> known;
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::lock_guard lock(mutex);
  std::shared_ptr<HttpClient> client = known.lock();
  if (client == nullptr || client->worker_->owner() != ::getpid()) {
    if (started != CURLE_OK) return Error(Code::internal, "libcurl cannot be started");
    client = std::make_shared<HttpClient>();
    if (!client->worker_->ok()) return Error(Code::out_of_memory, "no memory for an HTTP client");
    known = client;
  }
  return client;
}

void HttpClient::start(HttpRequest request, Done done) {
  auto transfer = std::make_unique<HttpTransfer>();
  transfer->request = std::move(request);
  transfer->done = std::move(done);
  worker_->start(std::move(transfer));
}

Result<HttpAnswer> HttpClient::get(HttpRequest request) {
  std::mutex mutex;
  std::condition_variable ready;
  std::optional<Result<HttpAnswer>> answer;
  start(std::move(request), [&](Result<HttpAnswer> result) {
    const std::lock_guard lock(mutex);
    answer = std::move(result);
    ready.notify_one();
  });
  std::unique_lock lock(mutex);
  ready.wait(lock, [&] { return answer.has_value(); });
  return *std::move(answer);
}

std::string curl_library() {
  return curl_version();
}

}  // namespace penstock::storage
