// Batch: the rows of one batch while they are worked on, and the columns that come out of it.
//
// Row k of the batch is written by whoever works on it; rows do not touch one another. A row that
// fails or is removed leaves a hole: finish() (collate.h) moves the others together.
//
// Thread safety: distinct rows may be worked on at once; all else is for one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "data/order.h"
#include "data/ranks.h"
#include "data/row.h"
#include "data/source.h"
#include "penstock/buffer.h"
#include "penstock/error.h"

namespace penstock::data {

enum class RowState : std::uint8_t { open, removed, failed };

struct BatchRow {
  RowState state = RowState::open;
  Row row;
  std::unique_ptr<Error> error;  // why it failed, or was replaced; mostly none: rows are small
};

// Values of one after the other, and where each row's begin: offsets has one more than rows.
struct Ragged {
  Tensor values, offsets;
};

struct Column {
  std::string name;
  std::variant<Tensor, std::vector<Value>, Ragged> values;
};

struct RowError {
  std::uint64_t position = 0;
  std::string sample;  // the record's name
  Error error;
  bool filling = false;   // of a row that only fills up the last round
  bool replaced = false;  // by another sample
};

struct Batch {
  std::uint64_t number = 0;  // of this rank, counted from where the run began
  std::uint64_t epoch = 0;
  BatchRows rows;
  std::uint64_t length = 0;   // of the order; 0 if it is endless
  std::uint64_t encoded = 0;  // bytes of its records, as far as they are known
  std::vector<Place> places;
  std::vector<BatchRow> work;
  std::vector<std::uint32_t> reading;  // rows in the order in which they are read; empty: their own
  std::vector<std::unique_ptr<formats::Fetch>> fetches;  // of what comes from afar: one a leaf
  std::vector<Fetched> fetched;                          // of each place; empty: nothing is
  std::optional<Reservation> room;  // for slots and the rest, which is given back with the rows
  std::once_flag slots_made;        // by who works on the first row: see RowWork::make_slots
  std::vector<Tensor> slots;

  // After finish().
  std::vector<Column> columns;
  std::vector<RowError> errors;
  std::size_t kept = 0;          // rows that are left
  std::optional<Error> failure;  // of the batch as a whole
  Object result;                 // what a function on the batch made of it
  Object state;                  // of the stream after this batch

  std::size_t read_at(std::size_t i) const noexcept { return reading.empty() ? i : reading[i]; }

  std::uint64_t position(std::size_t row) const noexcept {
    const std::uint64_t at = rows.first + row * rows.stride;
    return row < rows.valid || length == 0 ? at : at % length;
  }
};

using BatchPtr = std::shared_ptr<Batch>;

}  // namespace penstock::data
