// StoredValues: values of variable length that a file's object headers refer to, read without
// libhdf5.
//
// Thread safety: one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/chunked/hdf5/module.h"
#include "storage/source.h"

namespace penstock::formats::hdf5 {

class StoredValues final : public Stored {
 public:
  // With `checksums` false a wrong one is no error; for fuzzing.
  explicit StoredValues(std::shared_ptr<const storage::Source> source, bool checksums = true)
      : source_(std::move(source)), checksums_(checksums) {}

  Result<Bytes> fill(const Object& dataset, std::uint64_t item_bytes) const override;
  Result<std::vector<Bytes>> attribute(const Object& owner, const std::string& name,
                                       std::uint64_t count,
                                       std::uint64_t item_bytes) const override;

 private:
  std::shared_ptr<const storage::Source> source_;
  bool checksums_;
  // The messages of the object whose attributes were asked for last, by its header's address.
  mutable std::optional<std::pair<std::uint64_t, std::vector<Bytes>>> known_;
};

}  // namespace penstock::formats::hdf5
