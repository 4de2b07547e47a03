#include "storage/http_transfer.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>

namespace penstock::storage {
namespace {

// The value of a header line of that name, or nothing.
std::optional<std::string_view> value_of(std::string_view line, std::string_view name) {
  if (line.size() <= name.size() || line[name.size()] != ':') return std::nullopt;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(line[i])) != name[i]) return std::nullopt;
  }
  line.remove_prefix(name.size() + 1);
  const auto blank = [](char c) { return c == ' ' || c == '\r' || c == '\n' || c == '\t'; };
  while (!line.empty() && blank(line.front())) line.remove_prefix(1);
  while (!line.empty() && blank(line.back())) line.remove_suffix(1);
  return line;
}

std::optional<std::uint64_t> number_at(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

bool may_pass(CURLcode code) noexcept {
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_OUT_OF_MEMORY:
    case CURLE_WRITE_ERROR:
    case CURLE_TOO_MANY_REDIRECTS:
      return false;
    default:
      return true;
  }
}

}  // namespace

std::size_t HttpTransfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  static_cast<HttpTransfer*>(self)->take_header({data, size * count});
  return size * count;
}

void HttpTransfer::take_header(std::string_view line) {
  if (line.starts_with("HTTP/")) {  // of a redirect, or of the answer itself
    first.reset(), size.reset();
    etag.clear(), date.clear();
  } else if (const auto range = value_of(line, "content-range")) {
    // bytes 0-99/1234, or bytes */1234 if there is no such range
    const std::size_t slash = range->find('/');
    if (!range->starts_with("bytes ") || slash == range->npos) return;
    first = number_at(range->substr(6));
    size = number_at(range->substr(slash + 1));
  } else if (const auto tag = value_of(line, "etag")) {
    etag = *tag;
  } else if (const auto changed = value_of(line, "last-modified")) {
    date = *changed;
  }
}

std::size_t HttpTransfer::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  auto* transfer = static_cast<HttpTransfer*>(self);
  const std::size_t bytes = size * count;
  if (transfer->first != transfer->request.offset) return transfer->pass_over(bytes) ? bytes : 0;
  if (bytes > transfer->request.into.size() - transfer->received) {
    transfer->too_much = true;
    return 0;
  }
  std::memcpy(transfer->request.into.data() + transfer->received, data, bytes);
  transfer->received += bytes;
  return bytes;
}

// A short page is passed over, so that the connection can be used again; a whole file that comes in
// the place of a range, or a page that takes long, is broken off: the headers say what has to be
// known.
bool HttpTransfer::pass_over(std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t(64) << 10;
  constexpr std::chrono::seconds kLongest{1};
  const auto now = std::chrono::steady_clock::now();
  if (passed_over == 0) passing = now;
  passed_over += bytes;
  broken_off = passed_over > kMost || now - passing > kLongest;
  return !broken_off;
}

namespace {

// What may not stand in a URL as it is, though people write it: spaces, letters beyond ASCII.
std::string escaped(const std::string& url) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string all;
  for (const char c : url) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 127) {
      all += c;
    } else {
      all += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return all;
}

}  // namespace

void HttpTransfer::begin(const Curl& curl, CURL* easy) {
  received = 0;
  passed_over = 0;
  too_much = broken_off = false;
  first.reset(), size.reset();
  etag.clear(), date.clear();
  ++tries;
  const std::string range = std::to_string(request.offset) + "-" +
                            std::to_string(request.offset + request.into.size() - 1);
  curl.easy_reset(easy);
  curl.easy_setopt(easy, CURLOPT_URL, escaped(request.url).c_str());
  curl.easy_setopt(easy, CURLOPT_RANGE, range.c_str());
  curl.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
  curl.easy_setopt(easy, CURLOPT_MAXREDIRS, 5L);
  curl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, 10L);
  curl.easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);  // nothing at all for so long
  curl.easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, 30L);
  curl.easy_setopt(easy, CURLOPT_BUFFERSIZE, 256L << 10);
  curl.easy_setopt(easy, CURLOPT_USERAGENT, "penstock");
  curl.easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl.easy_setopt(easy, CURLOPT_HEADERDATA, this);
  curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl.easy_setopt(easy, CURLOPT_WRITEDATA, this);
  curl.easy_setopt(easy, CURLOPT_PRIVATE, this);
}

std::optional<Result<HttpAnswer>> HttpTransfer::outcome(const Curl& curl, CURL* easy, CURLcode code,
                                                        Error& last) const {
  const auto fail = [&](Code what, std::string message) {
    return Result<HttpAnswer>(Error(what, std::move(message))
                                  .in_file(request.url)
                                  .at_offset(std::int64_t(request.offset)));
  };
  const auto again = [&](const std::string& why) {
    std::string words = "the request failed";
    if (once) {
      words += ", as others to this server did just before: ";
    } else {
      words.append(" ").append(std::to_string(tries)).append(" times: ");
    }
    last = fail(Code::io, words + why).error();
    return std::optional<Result<HttpAnswer>>();
  };
  if (too_much) return fail(Code::io, "the server sent more than the range it was asked for");
  if (code != CURLE_OK && code != CURLE_PARTIAL_FILE) {
    const std::string why = curl.easy_strerror(code);
    if (code == CURLE_UNSUPPORTED_PROTOCOL) {
      return fail(Code::unsupported, "only URLs of http and https are read");
    }
    return may_pass(code) ? again(why) : fail(Code::io, "cannot read: " + why);
  }
  long status = 0;
  curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  if (status >= 500 || status == 429 || status == 408) {
    return again("the server answers " + std::to_string(status));
  }
  const std::string version = !etag.empty() ? etag : date;
  if (status == 416 && size == request.offset) return Result<HttpAnswer>({0, *size, version});
  if (status == 404 || status == 410) return fail(Code::not_found, "there is no such file there");
  if (status == 200) {
    curl_off_t length = -1;
    curl.easy_getinfo(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (length == 0 && request.offset == 0) return Result<HttpAnswer>({0, 0, version});
    return fail(Code::unsupported, "the server does not do ranges: download the file");
  }
  if (status == 416 && size && *size < request.offset) {
    return fail(Code::io, "the file on the server is shorter than it was: open it again");
  }
  if (status != 206 || first != request.offset || !size || *size < request.offset) {
    return fail(Code::io, "the server answers " + std::to_string(status) +
                              (status == 206 ? " with another range than it was asked for" : ""));
  }
  if (!request.version.empty() && version != request.version) {
    return fail(Code::io,
                "the file was changed on the server while the dataset was open: open it again");
  }
  const std::uint64_t wanted = std::min<std::uint64_t>(request.into.size(), *size - request.offset);
  if (received < wanted) {
    return again("the body ended after " + std::to_string(received) + " of " +
                 std::to_string(wanted) + " bytes");
  }
  return Result<HttpAnswer>({received, *size, version});
}

}  // namespace penstock::storage
