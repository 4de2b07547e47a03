// HttpTransfer: one request and what has come of it so far, as libcurl's callbacks see it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "storage/curl.h"
#include "storage/http_client.h"

namespace penstock::storage {

struct HttpTransfer {
  HttpRequest request;
  HttpClient::Done done;
  int tries = 0;
  std::chrono::steady_clock::time_point due;    // not before
  std::chrono::steady_clock::time_point since;  // the first try began
  std::string host;
  bool once = false;  // its host is out of order: it is not tried again

  // Of the try under way.
  std::size_t received = 0;
  bool too_much = false;
  std::size_t passed_over = 0;  // bytes of another body than the range: of an error page, or a file
  std::chrono::steady_clock::time_point passing;  // since when
  bool broken_off = false;                        // such a body, which is not waited for
  std::optional<std::uint64_t> first, size;       // from Content-Range
  std::string etag, date;

  bool abandoned() const noexcept { return request.abandoned && *request.abandoned; }
  void begin(const Curl& curl, CURL* easy);
  // What became of it. Nothing: it is worth another try, of which `last` says why.
  std::optional<Result<HttpAnswer>> outcome(const Curl& curl, CURL* easy, CURLcode code,
                                            Error& last) const;

 private:
  void take_header(std::string_view line);
  bool pass_over(std::size_t bytes);
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
};

}  // namespace penstock::storage
