// StoredValues: values of variable length that a file's object headers refer to, read without
// libhdf5.
//
// Thread safety: as the source.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "formats/chunked/hdf5/module.h"
#include "storage/source.h"

namespace penstock::formats::hdf5 {

class StoredValues final : public Stored {
 public:
  explicit StoredValues(std::shared_ptr<const storage::Source> source)
      : source_(std::move(source)) {}

  Result<Bytes> fill(const Object& dataset, std::uint64_t item_bytes) const override;
  Result<std::vector<Bytes>> attribute(const Object& owner, const std::string& name,
                                       std::uint64_t count,
                                       std::uint64_t item_bytes) const override;

 private:
  std::shared_ptr<const storage::Source> source_;
};

}  // namespace penstock::formats::hdf5
