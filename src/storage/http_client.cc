#include "storage/http_client.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "storage/http_hosts.h"
#include "storage/http_transfer.h"
#include "storage/wait.h"

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
  explicit Worker(const Curl& curl) : curl_(curl), multi_(curl.multi_init()) {
    if (multi_ == nullptr) return;
    curl_.multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS, long(kMostConnections));
    curl_.multi_setopt(multi_, CURLMOPT_MAXCONNECTS, long(kMostConnections));
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ~Worker() {
    if (multi_ == nullptr) return;
    if (::getpid() != owner_) {  // a forked child has no such thread, and may not touch its things
      thread_.detach();
      return;
    }
    thread_.request_stop();
    curl_.multi_wakeup(multi_);
    thread_.join();
    for (CURL* easy : idle_) curl_.easy_cleanup(easy);
    curl_.multi_cleanup(multi_);
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
    curl_.multi_wakeup(multi_);
  }

 private:
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      take_arrived();
      drop_abandoned();
      begin_due();
      int running = 0;
      curl_.multi_perform(multi_, &running);
      finish();
      curl_.multi_poll(multi_, nullptr, 0, milliseconds_to_wait(), nullptr);
    }
    take_arrived();
    for (TransferPtr& transfer : waiting_) transfer->done(closed());
    for (CURL* easy : active_) abandon(easy);
    for (CURL* easy : active_) curl_.easy_cleanup(easy);
  }

  void take_arrived() {
    const std::lock_guard lock(mutex_);
    for (TransferPtr& transfer : arrived_) waiting_.push_back(std::move(transfer));
    arrived_.clear();
  }

  // What nobody waits for any more makes room at once, be it under way or between two tries.
  void drop_abandoned() {
    const Clock::time_point now = Clock::now();
    if (now - looked_ < kLookAgain) return;
    looked_ = now;
    std::erase_if(waiting_, [](TransferPtr& transfer) {
      if (!transfer->abandoned()) return false;
      transfer->done(closed());
      return true;
    });
    std::erase_if(active_, [this](CURL* easy) {
      if (!transfer_of(easy)->abandoned()) return false;
      abandon(easy);
      idle_.push_back(easy);
      return true;
    });
  }

  // Not more at a time than there are connections: what waits longer than that is in nobody's way.
  void begin_due() {
    const Clock::time_point now = Clock::now();
    for (auto next = waiting_.begin();
         next != waiting_.end() && active_.size() < std::size_t(kMostConnections);) {
      if ((*next)->abandoned()) {
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
        easy = curl_.easy_init();
      }
      TransferPtr transfer = std::move(*next);
      next = waiting_.erase(next);
      if (easy == nullptr) {
        transfer->done(Error(Code::out_of_memory, "no memory for a request"));
        continue;
      }
      if (transfer->tries == 0) {
        transfer->since = now;
        transfer->host = HttpHosts::of(transfer->request.url);
      }
      transfer->once = transfer->once || hosts_.is_down(transfer->host, now);
      transfer->begin(curl_, easy);
      active_.push_back(easy);
      curl_.multi_add_handle(multi_, easy);
      (void)transfer.release();  // held by the handle: CURLOPT_PRIVATE
    }
  }

  void finish() {
    int left = 0;
    while (const CURLMsg* message = curl_.multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* easy = message->easy_handle;
      const CURLcode result = message->data.result;  // gone with the handle
      TransferPtr transfer = release(easy);
      const CURLcode code = transfer->broken_off ? CURLE_OK : result;
      std::erase(active_, easy);
      const Clock::time_point now = Clock::now();
      transfer->once = transfer->once || hosts_.is_down(transfer->host, now);
      Error last(Code::internal, "");
      std::optional<Result<HttpAnswer>> outcome = transfer->outcome(curl_, easy, code, last);
      idle_.push_back(easy);
      if (outcome && code == CURLE_OK) hosts_.answered(transfer->host, now);
      if (!outcome && transfer->tries < kMostTries && !transfer->once) {
        // Those that failed together do not all come back together.
        const auto pause = kFirstPause * (1 << (transfer->tries - 1));
        transfer->due = now + pause + pause * (++jitter_ % 8) / 16;
        waiting_.push_back(std::move(transfer));
        continue;
      }
      if (!outcome && !transfer->once) hosts_.failed(transfer->host, transfer->since, now);
      transfer->done(outcome ? *std::move(outcome) : Result<HttpAnswer>(std::move(last)));
    }
  }

  HttpTransfer* transfer_of(CURL* easy) const {
    void* transfer = nullptr;
    curl_.easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
    return static_cast<HttpTransfer*>(transfer);
  }

  TransferPtr release(CURL* easy) {
    TransferPtr transfer(transfer_of(easy));
    curl_.multi_remove_handle(multi_, easy);
    return transfer;
  }

  void abandon(CURL* easy) { release(easy)->done(closed()); }

  int milliseconds_to_wait() const {
    Clock::duration wait = std::chrono::seconds(1);
    if (!waiting_.empty() || !active_.empty()) wait = kLookAgain;
    if (active_.size() < std::size_t(kMostConnections)) {
      for (const TransferPtr& transfer : waiting_) {
        wait = std::min(wait, transfer->due - Clock::now());
      }
    }
    const auto count = std::chrono::duration_cast<std::chrono::milliseconds>(wait).count();
    return int(std::max<std::int64_t>(count + (count < 1000 ? 1 : 0), 0));
  }

  const Curl& curl_;
  CURLM* multi_;
  pid_t owner_ = ::getpid();
  std::mutex mutex_;
  std::vector<TransferPtr> arrived_;
  std::vector<TransferPtr> waiting_;  // for a connection, or for their time
  std::vector<CURL*> active_, idle_;
  HttpHosts hosts_;
  Clock::time_point looked_;  // for what was abandoned
  unsigned jitter_ = 0;
  std::jthread thread_;
};

HttpClient::HttpClient(const Curl& curl) : worker_(std::make_unique<Worker>(curl)) {}
HttpClient::~HttpClient() = default;

Result<std::shared_ptr<HttpClient>> HttpClient::shared() {
  static std::mutex mutex;
  static std::weak_ptr<HttpClient> known;
  const Result<const Curl*> library = curl();
  if (!library) return library.error();
  const std::lock_guard lock(mutex);
  std::shared_ptr<HttpClient> client = known.lock();
  if (client == nullptr || client->worker_->owner() != ::getpid()) {
    client = std::make_shared<HttpClient>(**library);
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
  if (engine::task_is_stopping()) return closed();
  std::mutex mutex;
  std::condition_variable ready;
  std::optional<Result<HttpAnswer>> answer;
  const auto abandoned = std::make_shared<std::atomic<bool>>(false);
  request.abandoned = abandoned;
  start(std::move(request), [&](Result<HttpAnswer> result) {
    const std::lock_guard lock(mutex);
    answer = std::move(result);
    ready.notify_one();
  });
  std::unique_lock lock(mutex);
  wait_unless_stopped(ready, lock, *abandoned, [&] { return answer.has_value(); });
  return *std::move(answer);
}

Result<std::string> curl_library() {
  const Result<const Curl*> library = curl();
  if (!library) return library.error();
  return std::string((*library)->version());
}

}  // namespace penstock::storage
