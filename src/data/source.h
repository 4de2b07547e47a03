// Source: a leaf of a dataset. Records of a format, arrays in memory, or records that another
// language has and hands out itself.
//
// Thread safety: immutable; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/row.h"
#include "formats/records.h"
#include "penstock/buffer.h"
#include "penstock/error.h"

namespace penstock::data {

// A record that was fetched from afar, or will be.
struct Fetched {
  const formats::Fetch* fetch = nullptr;  // none: it was not
  std::size_t number = 0;                 // among those of the fetch
};

class Source {
 public:
  virtual ~Source() = default;
  virtual std::uint64_t size() const noexcept = 0;
  virtual const std::vector<std::string>& fields() const noexcept = 0;
  // Adds the record's fields to the row. Errors name the record.
  virtual Status read(std::uint64_t record, BufferPool& pool, Row& into) const = 0;
  // The same for many: those that lie side by side in a file are read together.
  virtual void read_many(std::span<const std::uint64_t> records, BufferPool& pool,
                         std::span<Row* const> into, std::span<Status> outcomes) const;
  // The same, with some fields straight into arrays of a batch; see formats::Records. `into` may be
  // empty: then nothing else is read.
  virtual std::vector<formats::Placeable> placeable() const { return {}; }
  virtual void read_placed(std::span<const std::uint64_t> records,
                           std::span<const std::uint32_t> slots,
                           std::span<const formats::Placement> placements, BufferPool& pool,
                           std::span<Row* const> into,
                           std::vector<formats::Failure>& failures) const;
  // Are records better fetched before they are read? The plan for that: see formats::Records. Those
  // that are at hand already need not be among them.
  virtual bool from_afar() const noexcept { return false; }
  virtual std::unique_ptr<formats::Fetch> fetch(std::span<const std::uint64_t>) const {
    return nullptr;
  }
  virtual bool at_hand(std::uint64_t) const { return false; }
  // As read(), once the fetch is ready.
  virtual Status read_fetched(std::uint64_t record, const Fetched&, BufferPool& pool,
                              Row& into) const {
    return read(record, pool, into);
  }
  virtual std::string name(std::uint64_t record) const = 0;  // for messages
  // What read() takes from a pool, and the sum of it for many.
  virtual std::uint64_t bytes(std::uint64_t record) const noexcept;
  virtual std::uint64_t bytes_of(std::span<const std::uint64_t> records) const noexcept;
  virtual std::uint64_t mean_bytes() const noexcept = 0;
  virtual std::uint64_t digest() const noexcept = 0;
  virtual std::uint64_t block() const noexcept { return 0; }  // see formats::Records
  virtual std::uint64_t ahead() const noexcept { return 0; }  // likewise
  virtual void expect(std::span<const std::uint64_t>) const {}
  virtual bool on_disk() const noexcept { return false; }    // likewise
  virtual bool in_memory() const noexcept { return false; }  // likewise
  virtual void tell_places(std::span<const std::uint64_t>, storage::ReadAhead&) const {}
  virtual void advise(formats::Access) const noexcept {}     // how it will be read next
  virtual bool elsewhere() const noexcept { return false; }  // read() does nothing; see below
};

using SourcePtr = std::shared_ptr<const Source>;

SourcePtr source_of(std::shared_ptr<const formats::Records> records);

// Which rows of an array are a sample: one, or `size` of them from every `stride`-th on.
struct RowWindow {
  std::uint64_t size = 0;  // 0: one row, without a dimension for it
  std::uint64_t stride = 1;
};

// Row i of each array, or window i. All have the same length.
Result<SourcePtr> source_of_arrays(std::vector<std::pair<std::string, Tensor>> arrays,
                                   RowWindow window = {});

// Rows of a .npy file of numbers, or windows of them, in the field `data`. The file may be
// shortened while it is read: that is an Error.
Result<SourcePtr> source_of_npy(const std::string& path, RowWindow window = {});

// n records that are fetched by the first call of a plan (loader.h) instead of read().
SourcePtr source_elsewhere(std::uint64_t n, std::vector<std::string> fields, std::string name);

}  // namespace penstock::data
