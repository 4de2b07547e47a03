// Rows that are references into the global heap: texts, or lists of numbers.
#pragma once

#include <memory>
#include <string>

#include "formats/chunked/array.h"
#include "formats/chunked/hdf5/global_heap.h"

namespace penstock::formats::hdf5 {

struct VaryingRows {
  std::shared_ptr<const storage::Source> source;
  std::uint64_t base = 0;        // what addresses are relative to
  bool text = false;             // which ends at its first null byte
  std::uint64_t item_bytes = 1;  // of a list's numbers
};

// `references`: an array of elements of 16 bytes, one for each row. If it has neither chunks nor
// rows, each is its fill value.
//
// Thread safety: any thread.
Result<std::shared_ptr<const chunked::RowReader>> varying_rows(chunked::Array references,
                                                               const VaryingRows& rows);

}  // namespace penstock::formats::hdf5
