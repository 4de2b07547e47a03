// Where the chunks of an HDF5 dataset are, read from the file's own B-tree: libhdf5 1.10 has no
// call that lists chunks, and asking for each takes time in the square of their number.
// https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "formats/chunked/hdf5/module.h"
#include "storage/source.h"

namespace penstock::formats::hdf5 {

// `header` is the address of the dataset's object header; `shape` and `chunk` are what libhdf5
// says. Sorted by number. Nothing: the chunks are indexed in another way (files of
// "libver=latest"). Fails with corrupt if the tree is damaged.
Result<std::optional<std::vector<ChunkPlace>>> read_chunk_index(
    const storage::Source& source, std::uint64_t header, const std::vector<std::uint64_t>& shape,
    const std::vector<std::uint64_t>& chunk);

}  // namespace penstock::formats::hdf5
