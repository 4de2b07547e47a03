// The messages that hold the attributes of an object: in its header; or, if there are many, in a
// heap of their own (a "fractal heap"), which a B-tree lists.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/chunked/hdf5/index_file.h"

namespace penstock::formats::hdf5 {

// As far as they are in places that are known here. Fails with corrupt if something is damaged.
Result<std::vector<Bytes>> attribute_messages(IndexFile& file, std::uint64_t header);

}  // namespace penstock::formats::hdf5
