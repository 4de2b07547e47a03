// From rows to columns: fixed shapes become arrays, the rest lists.
//
// The schema (which fields, of what type and shape) is that of the first row that is finished, and
// fixed from then on; a row that does not fit fails, and its error names both rows. Samples that
// are handed out one by one have a schema each.
//
// Thread safety: one thread at a time, batches in order.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/batch.h"
#include "data/plan.h"
#include "transform/finish.h"

namespace penstock::data {

inline constexpr const char* kAllFields = "*";
inline constexpr const char* kMask = "_valid";

enum class Gather : std::uint8_t {
  stack,   // all rows have one shape
  pad,     // filled with zeros up to the longest, in each dimension
  ragged,  // one after the other, with offsets
  list,
};

struct CollateOptions {
  std::map<std::string, Gather> fields;  // others: that of kAllFields, or stack
  bool mask = false;                     // adds kMask
  bool alone = false;                    // each batch has a schema of its own
  // For images that come as arrays of uint8, height x width x channels.
  std::map<std::string, FinishSpec> images;  // sizes are those of the rows
};

class Collator {
 public:
  using RowName = std::function<std::string(std::size_t row)>;
  using Fits = std::function<bool(const Row& row)>;
  // Puts another row, which fits, in the place of one that has failed; or leaves it as it is.
  using Replace = std::function<void(std::size_t row, const Fits& fits)>;

  explicit Collator(CollateOptions options) : options_(std::move(options)) {}

  // Moves what is left of the rows into columns and lists errors in the order of rows. `name` says
  // what a row is called in messages; `placed` are the columns that rows do not hold; `replace`
  // may be empty.
  void finish(Batch& batch, const RowName& name, std::span<const PlacedField> placed = {},
              const Replace& replace = {});

  // Bytes per row, beside slots, that finished batches take; 0 until the schema is known.
  std::size_t row_bytes() const noexcept { return row_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Kind {
    std::string name;
    std::size_t type = 0;   // of the Value
    std::string words;      // the same for messages
    std::size_t array = 0;  // if it is placed
    bool numbers = false;   // in arrays, or single: those are arrays without dimensions
    DType dtype = DType::uint8;
    Dims shape;
    Gather gather = Gather::stack;
    std::optional<FinishSpec> finish;
  };
  using Kept = std::vector<std::size_t>;

  void learn(const Row& row);
  static bool fits(const Kind& kind, const Value& value);
  // Ways to gather such rows besides a list, for a message.
  static std::string others_that_fit(Kind kind, const Value& value);
  Status check(const Row& row) const;
  void admit(Batch& batch, std::size_t row, const RowName& name, const Replace& replace);
  Result<Column> column(Batch& batch, const Kind& kind, const Kept& kept) const;

  CollateOptions options_;
  std::vector<Kind> kinds_;
  bool known_ = false;
  std::string first_;  // the name of the row that the schema is from
  std::atomic<std::size_t> row_bytes_{0};
};

}  // namespace penstock::data
