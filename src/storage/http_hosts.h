// Hosts that are out of order. A request that fails for good after many tries, while nothing else
// of its host was answered either, says so for all of them: for as long as it took to find out, or
// until something is answered, others are tried once.
//
// Thread safety: one thread at a time.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <unordered_map>

namespace penstock::storage {

class HttpHosts {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // "http://name:80" of a URL.
  static std::string of(std::string_view url);

  bool is_down(const std::string& host, Time now) const;
  void answered(const std::string& host, Time now);
  // A request that was begun at `since` was tried as often as may be.
  void failed(const std::string& host, Time since, Time now);

 private:
  struct Known {
    Time answered = {}, down_until = {};
  };
  std::unordered_map<std::string, Known> known_;
};

}  // namespace penstock::storage
