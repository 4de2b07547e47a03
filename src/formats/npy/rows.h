// Rows of a .npy file, read where they are asked for, in either order of the file.
//
// Rows are copied out of a map, with care (storage/fault_guard.h): a file that is shortened while
// it is open is an Error of those who read on.
//
// Thread safety: never changes; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/npy/header.h"
#include "penstock/error.h"
#include "storage/map.h"
#include "storage/read_ahead.h"

namespace penstock::formats::npy {

class Rows {
 public:
  // `item_bytes` is for elements whose size the header does not tell: records.
  static Result<std::shared_ptr<const Rows>> open(const std::string& path,
                                                  std::size_t item_bytes = 0);

  const std::string& path() const noexcept { return path_; }
  const Header& header() const noexcept { return header_; }
  std::uint64_t size() const noexcept { return std::uint64_t(header_.shape[0]); }
  std::size_t row_bytes() const noexcept { return row_bytes_; }

  // `count` rows from each of `firsts` on, their elements side by side in C order: those from
  // firsts[k] on go to into[k], and outcomes[k] belongs to them. A row that is not there is
  // out_of_range.
  void read(std::span<const std::uint64_t> firsts, std::uint64_t count,
            std::span<std::byte* const> into, std::span<Status> outcomes) const;

  // Where `count` rows from each of `firsts` on are, in a file that is kept row by row.
  void tell_places(std::span<const std::uint64_t> firsts, std::uint64_t count,
                   storage::ReadAhead& ahead) const;

  Rows(std::string path, std::shared_ptr<const storage::Map> map, Header header,
       std::size_t row_bytes);

 private:
  std::string path_;
  std::shared_ptr<const storage::Map> map_;
  Header header_;
  std::size_t row_bytes_;
  std::vector<std::ptrdiff_t> strides_;  // of the file; bytes
};

}  // namespace penstock::formats::npy
