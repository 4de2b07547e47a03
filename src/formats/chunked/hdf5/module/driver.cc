#include "formats/chunked/hdf5/module/driver.h"

#include <algorithm>
#include <new>
#include <span>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace penstock::formats::hdf5 {
namespace {

// What libhdf5 takes for a file.
struct OpenRemote : H5FD_t {
  explicit OpenRemote(std::shared_ptr<Remote> from) : H5FD_t{}, remote(std::move(from)) {}
  std::shared_ptr<Remote> remote;
  haddr_t end_of_used = 0;  // as far as libhdf5 thinks that there is something
};

// What is handed to open() in the properties.
struct Given {
  const std::shared_ptr<Remote>* remote;
};

OpenRemote& remote_of(H5FD_t* file) {
  return *static_cast<OpenRemote*>(file);
}
const OpenRemote& remote_of(const H5FD_t* file) {
  return *static_cast<const OpenRemote*>(file);
}

H5FD_t* open(const char* name, unsigned flags, hid_t access, haddr_t) {
  const auto* given = static_cast<const Given*>(H5Pget_driver_info(access));
  if (given == nullptr || flags != H5F_ACC_RDONLY) return nullptr;
  if ((*given->remote)->source->name() != name) return nullptr;
  return new (std::nothrow) OpenRemote(*given->remote);
}

herr_t close(H5FD_t* file) {
  delete &remote_of(file);
  return 0;
}

herr_t query(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_DATA_SIEVE;
  return 0;
}

haddr_t end_of_used(const H5FD_t* file, H5FD_mem_t) {
  return remote_of(file).end_of_used;
}

herr_t set_end_of_used(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  remote_of(file).end_of_used = end;
  return 0;
}

haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) {
  return remote_of(file).remote->source->size();
}

// What is beyond the end reads as zeros: so do the drivers of libhdf5.
herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, std::size_t size, void* into) {
  Remote& remote = *remote_of(file).remote;
  const std::span bytes(static_cast<std::byte*>(into), size);
  const std::uint64_t there = remote.source->size() - std::min(remote.source->size(), offset);
  const auto count = std::size_t(std::min<std::uint64_t>(size, there));
  std::fill(bytes.begin() + std::ptrdiff_t(count), bytes.end(), std::byte(0));
  Status status = remote.source->read(offset, bytes.first(count));
  if (status.ok()) return 0;
  remote.failure = std::move(status).error();
  return -1;
}

herr_t refuse_to_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) {
  return -1;
}

hid_t driver() {
  static const hid_t registered = [] {
    H5FD_class_t made{};
#if H5_VERSION_GE(1, 13, 0)
    made.version = H5FD_CLASS_VERSION;
    made.value = 499;  // of those that anybody may use
#endif
    made.name = "penstock";
    made.maxaddr = (haddr_t(1) << 63) - 1;
    made.fc_degree = H5F_CLOSE_WEAK;
    made.fapl_size = sizeof(Given);
    made.open = &open;
    made.close = &close;
    made.query = &query;
    made.get_eoa = &end_of_used;
    made.set_eoa = &set_end_of_used;
    made.get_eof = &end_of_file;
    made.read = &read;
    made.write = &refuse_to_write;
    return H5FDregister(&made);
  }();
  return registered;
}

}  // namespace

bool use_driver(hid_t access, const std::shared_ptr<Remote>& remote) {
  const Given given{&remote};
  return driver() >= 0 && H5Pset_driver(access, driver(), &given) >= 0;
}

}  // namespace penstock::formats::hdf5
