// A driver for libhdf5 that reads through a Source, for files from afar. It never writes.
//
// Only the file itself is read so: other files that it names (external links, virtual datasets) are
// not there.
//
// Thread safety: as libhdf5, one thread at a time.
#pragma once

#include <hdf5.h>

#include <memory>
#include <optional>

#include "penstock/error.h"
#include "storage/source.h"

namespace penstock::formats::hdf5 {

struct Remote {
  explicit Remote(std::shared_ptr<const storage::Source> from) : source(std::move(from)) {}
  std::shared_ptr<const storage::Source> source;
  std::optional<Error> failure;  // of the last read, if it failed: libhdf5 cannot carry it
};

// Files that are opened with this list of properties are read through `remote`, which must stay
// while H5Fopen is called.
bool use_driver(hid_t access, const std::shared_ptr<Remote>& remote);

}  // namespace penstock::formats::hdf5
