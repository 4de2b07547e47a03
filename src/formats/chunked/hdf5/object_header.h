// ObjectHeader: the messages that say what a dataset or a group is.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "formats/chunked/hdf5/index_file.h"

namespace penstock::formats::hdf5 {

struct Message {
  enum Kind : std::uint64_t {
    old_fill = 4,
    fill = 5,
    layout = 8,
    attribute = 12,
    continued = 16,
    attributes_elsewhere = 21,
  };
  std::uint64_t kind = 0;
  bool elsewhere = false;  // `data` says where it is kept, together with others
  std::span<const std::byte> data;
};

class ObjectHeader {
 public:
  explicit ObjectHeader(const IndexFile& file) : file_(file) {}

  // Hands over one after the other until `use` gives false. Fails with corrupt.
  using Use = std::function<bool(const Message&)>;
  Status each(std::uint64_t address, const Use& use);

 private:
  Status open_new(std::uint64_t address, const Bytes& start);
  Result<bool> read_block(std::uint64_t address, std::uint64_t size, const Use& use);

  const IndexFile& file_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> blocks_;  // (offset, size)
  bool new_style_ = false, tracked_ = false;
};

}  // namespace penstock::formats::hdf5
