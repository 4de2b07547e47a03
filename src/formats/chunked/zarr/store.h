// Store: values by key, as Zarr has them. Files below a folder or a URL, or members of a zip
// archive.
//
// Thread safety: immutable; any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "penstock/buffer.h"
#include "penstock/error.h"
#include "storage/source.h"

namespace penstock::formats::zarr {

class Store {
 public:
  virtual ~Store() = default;
  virtual const std::string& name() const noexcept = 0;        // the folder, the URL or the archive
  virtual std::string name(const std::string& key) const = 0;  // for messages

  // The value as a source; null if there is none.
  virtual Result<std::shared_ptr<const storage::Source>> open(const std::string& key) const = 0;
  // The same for what is read as a whole: against its checksum, if the store has one.
  virtual Result<std::shared_ptr<const storage::Source>> open_checked(
      const std::string& key) const {
    return open(key);
  }
  // All of it, in memory of `pool`; nothing if there is none.
  virtual Result<std::optional<Buffer>> read(const std::string& key, BufferPool& pool) const = 0;
  // What comes after `prefix` (empty, or with a slash at the end) up to the next slash, sorted:
  // the groups and arrays below. Fails with unsupported where that cannot be found out.
  virtual Result<std::vector<std::string>> folders(const std::string& prefix) const = 0;
};

// A folder, a URL of one, or a zip archive (told by its name: .zip).
Result<std::shared_ptr<const Store>> open_store(const std::string& name);

}  // namespace penstock::formats::zarr
