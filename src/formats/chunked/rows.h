// Rows of arrays as records: row i of each array, side by side. Or windows of rows.
//
// A field of a record is the bytes of its elements, as this machine has them, in C order: a view of
// an unpacked chunk where they lie side by side there, else memory of its own.
//
// Thread safety: immutable; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "formats/chunked/array.h"
#include "formats/records.h"

namespace penstock::formats::chunked {

struct RowOptions {
  std::uint64_t cache = std::uint64_t(256) << 20;  // bytes of unpacked chunks that are kept
  std::uint64_t window = 0;                        // rows in a record; 0: one, without a dimension
  std::uint64_t stride = 0;  // from the beginning of a window to that of the next; 0: window
};

// What a field of a record is.
struct RowField {
  std::string name;
  Element element;
  std::vector<std::int64_t> shape;
};

class ArrayRecords : public Records {
 public:
  virtual const std::vector<Array>& arrays() const noexcept = 0;
  virtual std::vector<RowField> row_fields() const = 0;
  virtual std::uint64_t cached_bytes() const = 0;
  virtual std::uint64_t chunks_loaded() const = 0;
};

// All arrays must have the same number of rows. `name` is what was opened.
Result<std::shared_ptr<const ArrayRecords>> open_rows(std::vector<Array> arrays,
                                                      const RowOptions& options, std::string name);

}  // namespace penstock::formats::chunked
