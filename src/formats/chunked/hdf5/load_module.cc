#include <dlfcn.h>

#include <cstdlib>

#include "formats/chunked/hdf5/module.h"

namespace penstock::formats::hdf5 {
namespace {

constexpr const char* kName = "libpenstock_hdf5.so";

Error missing(const std::string& why) {
  return Error(Code::unsupported,
               "HDF5 files need libhdf5, 1.10.5 or newer: " + why +
                   ". On Debian and Ubuntu: apt install libhdf5-dev, then build Penstock again");
}

Result<OpenFile*> load() {
  const char* given = std::getenv("PENSTOCK_HDF5_LIBRARY");
  // By its bare name: found beside this library, or where the system looks.
  void* handle = ::dlopen(given != nullptr ? given : kName, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return missing(why != nullptr ? why : "libpenstock_hdf5.so cannot be loaded");
  }
  using Entry = void* (*)();
  const auto entry = reinterpret_cast<Entry>(::dlsym(handle, kModuleFunction));
  if (entry == nullptr) return missing(std::string(kName) + " is of another version of Penstock");
  return reinterpret_cast<OpenFile*>(entry());
}

}  // namespace

Result<OpenFile*> load_module() {
  static const Result<OpenFile*> loaded = load();
  return loaded;
}

}  // namespace penstock::formats::hdf5
