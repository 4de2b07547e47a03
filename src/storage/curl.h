// libcurl, loaded when a URL is first read: it brings some 25 libraries and 5 MB with it, which
// processes that read local files do without.
#pragma once

#include <curl/curl.h>

#include "penstock/error.h"

namespace penstock::storage {

// Its functions that are used here, under their names without "curl_".
struct Curl {
  decltype(&curl_version) version;
  decltype(&curl_version_info) version_info;
  decltype(&curl_global_init) global_init;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_reset) easy_reset;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_multi_init) multi_init;
  decltype(&curl_multi_cleanup) multi_cleanup;
  decltype(&curl_multi_setopt) multi_setopt;
  decltype(&curl_multi_add_handle) multi_add_handle;
  decltype(&curl_multi_remove_handle) multi_remove_handle;
  decltype(&curl_multi_perform) multi_perform;
  decltype(&curl_multi_poll) multi_poll;
  decltype(&curl_multi_wakeup) multi_wakeup;
  decltype(&curl_multi_info_read) multi_info_read;
};

// Loads and starts it when it is first asked for; it stays. Error (unsupported): it is missing or
// too old; the message says what to install. Any thread.
Result<const Curl*> curl();

}  // namespace penstock::storage
