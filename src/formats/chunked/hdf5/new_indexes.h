// The indexes of chunks that files of HDF5 1.10 and later have ("libver=v110"): arrays of entries
// by the chunk's number, and B-trees of version 2.
// https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html
//
// Each adds the chunks that it finds to a table, which knows what an entry looks like. `address` is
// that of the index's header. Fails with corrupt if something is damaged.
#pragma once

#include "formats/chunked/hdf5/chunk_table.h"

namespace penstock::formats::hdf5 {

// Of arrays that have a largest size.
Status read_fixed_array(IndexFile& file, std::uint64_t address, ChunkTable& table);
// Of arrays that may grow without end in one dimension.
Status read_extensible_array(IndexFile& file, std::uint64_t address, ChunkTable& table);
// Of all others. Coordinates have `dimensions` numbers.
Status read_tree2(IndexFile& file, std::uint64_t address, std::size_t dimensions,
                  ChunkTable& table);

}  // namespace penstock::formats::hdf5
