// IndexBuilder: collects the records of one file and lays them out as an Index.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/index.h"

namespace penstock::formats {

class IndexBuilder {
 public:
  explicit IndexBuilder(bool hashes) : hashes_wanted_(hashes) {}

  // A record that begins at `start`; then its parts, which do not lie before that.
  void begin(std::string_view key, std::uint64_t start);
  void part(std::uint16_t field, std::uint64_t offset, std::uint64_t size, std::uint64_t hash);
  void spoil(std::uint64_t trouble, std::uint64_t offset);  // the record begun last cannot be read

  std::uint64_t records() const noexcept { return starts_.size(); }
  std::string_view key(std::uint64_t record) const noexcept;
  std::uint64_t start(std::uint64_t record) const noexcept { return starts_[record]; }
  // Records, in order, whose key another one had before.
  std::vector<std::uint64_t> repeated_keys() const;

  // The sidecar's bytes. `spoil_also` are further bad records, sorted. Fails with unsupported if
  // there is more than the layout can hold.
  struct Extra {
    std::vector<std::string> fields;
    storage::Stamp stamp;
    Findings findings;
    std::vector<Index::Bad> bad;
  };
  Result<Index> finish(const Extra& extra) const;

 private:
  bool hashes_wanted_;
  std::vector<std::uint64_t> starts_;
  std::vector<std::uint32_t> firsts_{0}, ends_{0};
  std::string keys_;
  std::vector<std::uint64_t> places_, sizes_, hashes_;
  std::vector<std::uint16_t> numbers_;
  std::vector<Index::Bad> bad_;
  std::uint64_t payload_ = 0, largest_ = 0;
  bool overflow_ = false;
};

}  // namespace penstock::formats
