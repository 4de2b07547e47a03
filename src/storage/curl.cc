#include "storage/curl.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

namespace penstock::storage {
namespace {

constexpr const char* kNames[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
constexpr unsigned kOldest = 0x075500;  // 7.85

Error missing(const std::string& why) {
  return Error(Code::unsupported, "URLs need libcurl, 7.85 or newer: " + why +
                                      ". On Debian and Ubuntu: apt install libcurl4");
}

// Of the first one that there is. Null: none; `why` says so of the first.
void* open(std::string& why) {
  const auto tried = [&](const char* name) {
    void* handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char* error = handle == nullptr ? ::dlerror() : nullptr;
    if (error != nullptr && why.empty()) why = error;
    return handle;
  };
  if (const char* given = std::getenv("PENSTOCK_CURL_LIBRARY")) return tried(given);
  for (const char* name : kNames) {
    if (void* handle = tried(name)) return handle;
  }
  return nullptr;
}

template <class Function>
bool find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  return function != nullptr;
}

bool find_all(void* handle, Curl& c) {
  return find(handle, "curl_version", c.version) &&
         find(handle, "curl_version_info", c.version_info) &&
         find(handle, "curl_global_init", c.global_init) &&
         find(handle, "curl_easy_init", c.easy_init) &&
         find(handle, "curl_easy_cleanup", c.easy_cleanup) &&
         find(handle, "curl_easy_reset", c.easy_reset) &&
         find(handle, "curl_easy_setopt", c.easy_setopt) &&
         find(handle, "curl_easy_getinfo", c.easy_getinfo) &&
         find(handle, "curl_easy_strerror", c.easy_strerror) &&
         find(handle, "curl_multi_init", c.multi_init) &&
         find(handle, "curl_multi_cleanup", c.multi_cleanup) &&
         find(handle, "curl_multi_setopt", c.multi_setopt) &&
         find(handle, "curl_multi_add_handle", c.multi_add_handle) &&
         find(handle, "curl_multi_remove_handle", c.multi_remove_handle) &&
         find(handle, "curl_multi_perform", c.multi_perform) &&
         find(handle, "curl_multi_poll", c.multi_poll) &&
         find(handle, "curl_multi_wakeup", c.multi_wakeup) &&
         find(handle, "curl_multi_info_read", c.multi_info_read);
}

Result<const Curl*> load() {
  static Curl functions;
  std::string why;
  void* handle = open(why);
  if (handle == nullptr) return missing(why);
  if (!find_all(handle, functions) ||
      functions.version_info(CURLVERSION_NOW)->version_num < kOldest) {
    return missing("the one that there is, is older");
  }
  if (functions.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return Error(Code::internal, "libcurl cannot be started");
  }
  return &functions;
}

}  // namespace

Result<const Curl*> curl() {
  static const Result<const Curl*> loaded = load();
  return loaded;
}

}  // namespace penstock::storage
