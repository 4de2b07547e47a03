// HttpClient: byte ranges of URLs, by libcurl. One thread keeps many requests under way over
// connections that are used again and again.
//
// A request that fails in a way that may pass (no connection, a reset, a body that ends early, 5xx,
// 429) is made again after a while, a few times; once only if its host is known to be out of order
// (http_hosts.h). What comes must be the range that was asked for, of the version that was asked
// for.
//
// Thread safety: every member may be called from any thread at any time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "penstock/error.h"
#include "storage/source.h"

namespace penstock::storage {

struct Curl;

struct HttpRequest {
  std::string url;
  std::uint64_t offset = 0;
  std::span<std::byte> into;  // stays until the answer has come; fewer bytes come at the end
  std::string version;        // of an answer before this one; empty: any
  Abandoned abandoned = {};   // may be empty; looked at while it waits and while it is under way
};

struct HttpAnswer {
  std::size_t count = 0;   // bytes in `into`
  std::uint64_t size = 0;  // of all that the URL stands for
  std::string version;     // its ETag, else its date; empty if the server tells neither
};

class HttpClient {
 public:
  using Done = std::function<void(Result<HttpAnswer>)>;

  static constexpr int kMostConnections = 32;

  // The one of this process, as long as somebody holds it. Error: there is no libcurl.
  static Result<std::shared_ptr<HttpClient>> shared();

  // `done` is called once, from the client's thread; it should be short.
  void start(HttpRequest request, Done done);
  // The same, waiting for the answer. In a task whose pipeline is stopped it ends early (closed).
  Result<HttpAnswer> get(HttpRequest request);

  explicit HttpClient(const Curl& curl);  // use shared()
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

// "libcurl/7.88.1 OpenSSL/3.0.11 ...": what it is, and what it was built with. Loads it.
Result<std::string> curl_library();

}  // namespace penstock::storage
