// Where the chunks of an HDF5 dataset are, read from the file's own index: libhdf5 1.10 has no call
// that lists chunks, and asking for each takes time in the square of their number and is wrong for
// arrays that grow in another dimension than the first.
// https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "formats/chunked/hdf5/module.h"
#include "storage/source.h"

namespace penstock::formats::hdf5 {

struct IndexRequest {
  std::uint64_t header = 0;                       // the address of the dataset's object header
  std::uint64_t base = 0;                         // what addresses are relative to
  std::vector<std::uint64_t> shape, most, chunk;  // as libhdf5 says (Dataset)
  bool checksums = true;                          // false: wrong ones do not matter; for fuzzing
};

// Sorted by number, at offsets in the file. Nothing: the chunks are indexed in a way that is not
// known here. Fails with corrupt if the index is damaged.
Result<std::optional<std::vector<ChunkPlace>>> read_chunk_index(const storage::Source& source,
                                                                const IndexRequest& request);

}  // namespace penstock::formats::hdf5
