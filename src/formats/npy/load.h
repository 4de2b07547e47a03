// Loading .npy files: into pooled memory, or as a map.
#pragma once

#include <string>

#include "formats/npy/header.h"
#include "penstock/buffer.h"
#include "penstock/tensor.h"
#include "storage/source.h"

namespace penstock::formats::npy {

// An array in memory. Its elements are data_bytes() from `offset` on (for records: the rest).
struct Array {
  Header header;
  Buffer memory;
  std::size_t offset = 0;

  // For elements that have a dtype.
  Result<Tensor> tensor() const;
};

// The header of a file, and that the file is as long as it says.
Result<Header> read_header(const storage::Source& source);
// Is a file of so many bytes long enough? Of records only NumPy knows.
Status check_size(const Header& header, std::uint64_t file_bytes);

// Reads a whole file into memory of `pool`.
Result<Array> load(const storage::Source& source, BufferPool& pool);

// The elements stay in the file, which must not become shorter while the array is in use: whoever
// touches what is gone ends with a signal. (See rows.h for rows that are copied with care.)
Result<Array> map(const std::string& path);

// An array in memory that somebody else holds; `memory` keeps it alive.
Result<Array> over(std::span<const std::byte> file, Buffer memory);

}  // namespace penstock::formats::npy
