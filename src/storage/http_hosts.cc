#include "storage/http_hosts.h"

namespace penstock::storage {

std::string HttpHosts::of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  const std::size_t name = scheme == url.npos ? 0 : scheme + 3;
  return std::string(url.substr(0, url.find_first_of("/?#", name)));
}

bool HttpHosts::is_down(const std::string& host, Time now) const {
  const auto found = known_.find(host);
  return found != known_.end() && now < found->second.down_until;
}

void HttpHosts::answered(const std::string& host, Time now) {
  known_[host] = {now, {}};
}

void HttpHosts::failed(const std::string& host, Time since, Time now) {
  Known& known = known_[host];
  if (known.answered < since) known.down_until = now + (now - since);
}

}  // namespace penstock::storage
