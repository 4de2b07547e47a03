// The records of a B-tree of version 2, whatever they are of.
#pragma once

#include <cstdint>
#include <functional>

#include "formats/chunked/hdf5/index_file.h"

namespace penstock::formats::hdf5 {

struct Tree2Records {
  // How many a record of this kind has; 0: none is expected here.
  std::function<std::uint64_t(std::uint64_t kind)> bytes;
  // `at`: the address of the node.
  std::function<Status(std::uint64_t kind, Reader& record, std::uint64_t at)> use;
};

// `address` is that of the tree's header. Fails with corrupt if something is damaged.
Status each_record(IndexFile& file, std::uint64_t address, const Tree2Records& records);

}  // namespace penstock::formats::hdf5
