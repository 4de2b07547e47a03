#include "media/av/load.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

namespace penstock::media::av {
namespace {

constexpr const char* kName = "libpenstock_av.so";
constexpr const char* kEntry = "penstock_av_library";

Error missing(const std::string& why) {
  return Error(Code::unsupported,
               "video and audio need FFmpeg's libraries, 5.1 or newer: " + why +
                   ". On Debian and Ubuntu: apt install libavformat-dev libavcodec-dev "
                   "libswscale-dev libswresample-dev, then build Penstock again");
}

Result<Library*> load() {
  const char* given = std::getenv("PENSTOCK_AV_LIBRARY");
  // By its bare name: found beside this library, or where the system looks.
  void* handle = dlopen(given != nullptr ? given : kName, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return missing(why != nullptr ? why : "libpenstock_av.so cannot be loaded");
  }
  using Entry = Library* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, kEntry));
  Library* found = entry != nullptr ? entry() : nullptr;
  if (found == nullptr || found->interface() != kInterface) {
    return missing(std::string(kName) + " is of another version of Penstock");
  }
  return found;
}

}  // namespace

Result<Library*> library() {
  static const Result<Library*> loaded = load();
  return loaded;
}

}  // namespace penstock::media::av
