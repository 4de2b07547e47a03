// Column: one column of a group of rows, as Arrow has it in memory. Values are looked at where they
// lie; nothing is copied but what goes into a batch.
//
// Lengths of buffers are not part of Arrow's interface: whoever made the columns vouches for them.
// What is inside them (offsets) is checked before it is followed.
//
// Thread safety: immutable; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/records.h"
#include "formats/table/arrow_abi.h"
#include "penstock/buffer.h"
#include "penstock/dtype.h"
#include "penstock/error.h"

namespace penstock::formats::table {

enum class Kind : std::uint8_t {
  numbers,  // as many for each row: one, or those of `shape`
  lists,    // of numbers, of any length; shape[0] is -1
  text,
  bytes,
};

// What a column is declared to be.
struct ColumnType {
  std::string name;
  Kind kind = Kind::numbers;
  DType dtype = DType::uint8;       // of numbers
  std::vector<std::int64_t> shape;  // of a row's numbers

  std::size_t row_bytes() const noexcept;  // of kind numbers; of a list's element else
};

// Owns what was handed over: its release function is called when this goes.
class Imported {
 public:
  // Takes what the structs hold; they are left as released.
  Imported(ArrowSchema& schema, ArrowArray& array) noexcept;
  Imported(const Imported&) = delete;
  Imported& operator=(const Imported&) = delete;
  ~Imported();

  const ArrowSchema& schema() const noexcept { return schema_; }
  const ArrowArray& array() const noexcept { return array_; }

 private:
  ArrowSchema schema_;
  ArrowArray array_;
};
using ImportedPtr = std::shared_ptr<const Imported>;

// Rows that are neighbours in a column and in a batch.
struct Run {
  std::uint64_t row = 0;
  std::uint64_t slot = 0;
  std::size_t index = 0;  // of the first one, for failures
  std::size_t count = 0;
};

class Column {
 public:
  // Fails if the column is not of that type. Views of its text and bytes share `owner`; the column
  // itself lives no longer than somebody holds that.
  static Result<Column> over(const ColumnType& type, const ArrowSchema& schema,
                             const ArrowArray& array, const ImportedPtr& owner);

  std::uint64_t bytes() const noexcept { return bytes_; }  // that it takes, about

  // The value of a row: a view where there is one, else memory of `pool`. A null is of kind nothing
  // for text and bytes, and an Error for numbers.
  Status read(std::uint64_t row, BufferPool& pool, Field& into) const;

  // Numbers of one size, copied to `to + slot * row_bytes()`.
  void place(std::span<const Run> runs, std::byte* to, std::vector<Failure>& failures) const;

 private:
  bool is_null(std::uint64_t row) const noexcept;
  bool has_null(std::uint64_t first, std::uint64_t count) const noexcept;  // among the numbers
  Error null_error() const;
  std::uint64_t offset_at(std::uint64_t i) const noexcept;
  void copy_numbers(std::uint64_t first, std::uint64_t count, std::byte* to) const noexcept;

  ColumnType type_;
  std::size_t item_ = 0;                  // bytes of one number
  std::uint64_t per_row_ = 1;             // numbers of a row, or of a list's element
  bool bits_ = false;                     // booleans: eight in a byte
  bool wide_ = false;                     // offsets of 64 bits
  std::uint64_t fixed_ = 0;               // bytes of all values alike: there are no offsets
  std::uint64_t length_ = 0, start_ = 0;  // rows; the first one's place in the buffers
  std::uint64_t limit_ = 0;               // what offsets may not pass
  const std::byte* nulls_ = nullptr;      // bits; null: there are none
  const std::byte* offsets_ = nullptr;
  const std::byte* values_ = nullptr;  // numbers
  std::uint64_t values_start_ = 0;     // the first one's place among the numbers
  struct Bits {
    const std::byte* bits;
    std::uint64_t start, numbers;  // where they begin; how many numbers each stands for
  };
  std::vector<Bits> inner_nulls_;  // of the numbers inside lists
  Buffer memory_;                  // of text and bytes
  std::uint64_t bytes_ = 0;
};

}  // namespace penstock::formats::table
