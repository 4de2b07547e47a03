// Rows of tables as records: files that hold columns in groups of rows (Parquet's row groups,
// Arrow's record batches). Whoever can read such files hands out groups; they are kept as long as
// they fit in a budget of bytes, and rows are views of them.
//
// A column is a field: numbers as the bytes of their elements, text, bytes, lists of numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "formats/records.h"
#include "formats/table/column.h"

namespace penstock::formats::table {

struct Group {
  std::size_t file = 0;             // of Table::files
  std::uint64_t number = 0;         // in its file
  std::uint64_t rows = 0;           // in the file
  std::vector<std::uint32_t> kept;  // those that are samples; empty: all of them
};

struct Table {
  std::vector<std::string> files;  // names
  std::vector<ColumnType> columns;
  std::vector<Group> groups;     // those that are read, in the order of their rows
  std::uint64_t cache = 0;       // bytes of groups that are kept
  std::uint64_t mean_bytes = 1;  // of a row, in the files
  std::string chosen;            // how rows were chosen, in words: a part of the digest
};

// The columns of a group, as the children of a struct array, in the order of Table::columns.
// Called from any thread, several at a time. Errors need not name file and group.
using LoadGroup = std::function<Result<ImportedPtr>(std::size_t group)>;

class TableRecords : public Records {
 public:
  virtual std::uint64_t groups_loaded() const = 0;
  virtual std::uint64_t cached_bytes() const = 0;
};

Result<std::shared_ptr<const TableRecords>> open_rows(Table table, LoadGroup load);

}  // namespace penstock::formats::table
