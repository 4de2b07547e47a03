#include "formats/table/rows.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "formats/chunked/cache.h"
#include "formats/digest.h"

namespace penstock::formats::table {
namespace {

struct Loaded {
  ImportedPtr owner;  // of what the columns look at
  std::vector<Column> columns;
};

// The cache keeps Buffers: this one stands for the columns of a group, and has their size.
chunked::Chunk as_chunk(std::unique_ptr<Loaded> group) {
  std::uint64_t bytes = 1;
  for (const Column& column : group->columns) bytes += column.bytes();
  Loaded* const columns = group.release();
  return Buffer::wrap(columns, static_cast<std::size_t>(bytes), [columns] { delete columns; });
}

const Loaded& columns_of(const chunked::Chunk& chunk) {
  return *reinterpret_cast<const Loaded*>(chunk.data());
}

class Rows final : public TableRecords {
 public:
  Rows(Table table, LoadGroup load)
      : table_(std::move(table)),
        load_(std::move(load)),
        cache_(table_.cache, {table_.groups.size()},
               [this](std::size_t, std::uint64_t group) { return unpack(group); }) {
    Digest digest;
    digest.add("table");
    digest.add(table_.chosen);
    const std::size_t root = common_folder(table_.files);
    starts_.push_back(0);
    for (const Group& group : table_.groups) {
      const std::uint64_t rows = group.kept.empty() ? group.rows : group.kept.size();
      starts_.push_back(starts_.back() + rows);
      block_ = std::max(block_, rows);
      digest.add(std::string_view(table_.files[group.file]).substr(root));
      digest.add(rows);
    }
    digest_ = digest.value();
    for (const ColumnType& column : table_.columns) {
      fields_.push_back(column.name);
      if (column.kind == Kind::numbers) taken_ += column.row_bytes();
    }
  }

  std::uint64_t size() const noexcept override { return starts_.back(); }
  const std::vector<std::string>& fields() const noexcept override { return fields_; }
  std::uint64_t block() const noexcept override { return block_; }
  std::uint64_t groups_loaded() const override { return cache_.loaded(); }
  std::uint64_t cached_bytes() const override { return cache_.used(); }
  std::uint64_t bytes(std::uint64_t index) const noexcept override {
    return index < size() ? taken_ : 0;
  }
  std::uint64_t largest() const noexcept override { return taken_; }
  std::uint64_t mean_bytes() const noexcept override {
    return std::max<std::uint64_t>(table_.mean_bytes, 1);
  }
  std::uint64_t digest() const noexcept override { return digest_; }
  Findings findings() const noexcept override { return {}; }

  std::string name(std::uint64_t index) const override {
    if (index >= size()) return "row " + std::to_string(index);
    const std::size_t number = group_of(index);
    const Group& group = table_.groups[number];
    return table_.files[group.file] + ":row group " + std::to_string(group.number) + ", row " +
           std::to_string(row_of(number, index));
  }

  Status read(std::uint64_t index, BufferPool& pool, Record& into) const override {
    Held held;
    return read(index, pool, into, held);
  }

  // In the order of rows, so that each group is asked for once.
  void read_many(std::span<const std::uint64_t> indices, BufferPool& pool, std::span<Record> into,
                 std::span<Status> outcomes) const override {
    std::vector<std::size_t> order(indices.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    const auto less = [&](std::size_t a, std::size_t b) { return indices[a] < indices[b]; };
    if (!std::is_sorted(order.begin(), order.end(), less)) {
      std::sort(order.begin(), order.end(), less);
    }
    Held held;
    for (const std::size_t i : order) outcomes[i] = read(indices[i], pool, into[i], held);
  }

  std::vector<Placeable> placeable() const override {
    std::vector<Placeable> all;
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      const ColumnType& column = table_.columns[i];
      if (column.kind == Kind::numbers) all.push_back({i, column.dtype, column.shape});
    }
    return all;
  }

  void read_placed(std::span<const std::uint64_t> indices, std::span<const std::uint32_t> slots,
                   std::span<const Placement> placements, BufferPool& pool, std::span<Record> into,
                   std::vector<Failure>& failures) const override {
    std::vector<bool> placed(table_.columns.size(), false);
    for (const Placement& one : placements) placed[one.field] = true;
    std::vector<Run> runs;
    for (std::size_t first = 0; first < indices.size();) {
      if (indices[first] >= size()) {
        failures.push_back({first, beyond(indices[first])});
        ++first;
        continue;
      }
      const std::size_t group = group_of(indices[first]);
      std::size_t end = first;
      runs.clear();
      for (; end < indices.size() && indices[end] >= starts_[group] &&
             indices[end] < starts_[group + 1];
           ++end) {
        const std::uint64_t row = row_of(group, indices[end]);
        Run* last = runs.empty() ? nullptr : &runs.back();
        if (last != nullptr && row == last->row + last->count &&
            slots[end] == last->slot + last->count) {
          ++last->count;
        } else {
          runs.push_back({row, slots[end], end, 1});
        }
      }
      const Result<chunked::Chunk> chunk = cache_.get(0, group);
      for (std::size_t k = first; !chunk && k < end; ++k) failures.push_back({k, chunk.error()});
      if (chunk) {
        const Loaded& loaded = columns_of(*chunk);
        for (const Placement& one : placements) {
          loaded.columns[one.field].place(runs, one.to, failures);
        }
        for (std::size_t k = first; k < end && !into.empty(); ++k) {
          Status status = read_fields(loaded, row_of(group, indices[k]), pool, into[k], placed);
          if (!status) failures.push_back({k, std::move(status).error()});
        }
      }
      first = end;
    }
  }

 private:
  // The group that was asked for last, so that neighbours need not ask again.
  struct Held {
    std::size_t number = ~std::size_t(0);
    chunked::Chunk chunk;
  };

  static Error beyond(std::uint64_t index) {
    return Error(Code::out_of_range, "there is no row " + std::to_string(index));
  }

  std::size_t group_of(std::uint64_t index) const noexcept {
    const auto behind = std::upper_bound(starts_.begin(), starts_.end(), index);
    return static_cast<std::size_t>(behind - starts_.begin()) - 1;
  }
  std::uint64_t row_of(std::size_t group, std::uint64_t index) const noexcept {
    const std::vector<std::uint32_t>& kept = table_.groups[group].kept;
    const std::uint64_t place = index - starts_[group];
    return kept.empty() ? place : kept[static_cast<std::size_t>(place)];
  }

  Status read(std::uint64_t index, BufferPool& pool, Record& into, Held& held) const {
    into.clear();
    if (index >= size()) return beyond(index);
    const std::size_t group = group_of(index);
    if (held.number != group) {
      Result<chunked::Chunk> chunk = cache_.get(0, group);
      if (!chunk) return std::move(chunk).error();
      held = {group, *std::move(chunk)};
    }
    return read_fields(columns_of(held.chunk), row_of(group, index), pool, into, {});
  }

  Status read_fields(const Loaded& loaded, std::uint64_t row, BufferPool& pool, Record& into,
                     const std::vector<bool>& without) const {
    into.clear();
    for (std::size_t i = 0; i < loaded.columns.size(); ++i) {
      if (!without.empty() && without[i]) continue;
      Field field{fields_[i], FieldKind::bytes, {}, 0, {}};
      if (Status status = loaded.columns[i].read(row, pool, field); !status) {
        into.clear();
        return status;
      }
      into.fields.push_back(std::move(field));
    }
    return {};
  }

  // What is damaged, or does not fit, stays so: it is not tried again for each of its rows.
  Result<chunked::Chunk> unpack(std::uint64_t number) const {
    {
      const std::lock_guard hold(mutex_);
      const auto known = damaged_.find(number);
      if (known != damaged_.end()) return known->second;
    }
    Result<chunked::Chunk> made = make(number);
    if (made) fit_cache(made->size());
    const Code code = made ? Code::internal : made.error().code();
    if (code == Code::corrupt || code == Code::invalid_argument) {
      const std::lock_guard hold(mutex_);
      damaged_.emplace(number, made.error());
    }
    return made;
  }

  // Who walks from front to back does not come back soon: groups behind are let go, so that their
  // memory, which is in the processor's cache, serves for those ahead.
  void fit_cache(std::uint64_t bytes) const {
    constexpr std::uint64_t kWalk = 4;
    const std::uint64_t ahead = 2 + std::max(1U, std::thread::hardware_concurrency());
    std::uint64_t budget = table_.cache;
    {
      const std::lock_guard hold(mutex_);
      largest_ = std::max(largest_, bytes);
      if (largest_ <= budget / ahead && cache_.run(0) >= kWalk) budget = largest_ * ahead;
    }
    cache_.set_budget(budget);
  }

  Result<chunked::Chunk> make(std::uint64_t number) const {
    const Group& group = table_.groups[static_cast<std::size_t>(number)];
    Result<ImportedPtr> loaded = load_(static_cast<std::size_t>(number));
    if (!loaded) return failed(group, std::move(loaded).error());
    const ArrowArray& all = (*loaded)->array();
    const auto columns = static_cast<std::int64_t>(table_.columns.size());
    if (all.n_children != columns || (*loaded)->schema().n_children != columns ||
        all.length != static_cast<std::int64_t>(group.rows) || all.offset != 0) {
      return failed(group,
                    Error(Code::corrupt, "it has " + std::to_string(all.length) + " rows, but " +
                                             std::to_string(group.rows) + " were announced"));
    }
    auto made = std::make_unique<Loaded>();
    made->owner = *loaded;
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      const ArrowArray& one = *all.children[i];
      if (one.length != all.length) {
        return failed(group, Error(Code::corrupt, "its columns differ in length"));
      }
      Result<Column> column =
          Column::over(table_.columns[i], *(*loaded)->schema().children[i], one, *loaded);
      if (!column) return failed(group, std::move(column).error());
      made->columns.push_back(*std::move(column));
    }
    return as_chunk(std::move(made));
  }

  Error failed(const Group& group, Error why) const {
    Error error(why.code(),
                "row group " + std::to_string(group.number) + " cannot be read: " + why.message());
    return std::move(error).in_file(table_.files[group.file]);
  }

  Table table_;
  LoadGroup load_;
  std::vector<std::string> fields_;
  std::vector<std::uint64_t> starts_;  // of groups, and the number of rows
  std::uint64_t block_ = 0, taken_ = 0, digest_ = 0;
  mutable std::mutex mutex_;
  mutable std::map<std::uint64_t, Error> damaged_;  // groups
  mutable std::uint64_t largest_ = 0;               // group so far, in bytes
  chunked::ChunkCache cache_;
};

}  // namespace

Result<std::shared_ptr<const TableRecords>> open_rows(Table table, LoadGroup load) {
  if (table.columns.empty()) {
    return Error(Code::invalid_argument, "there are no columns to read");
  }
  for (const Group& group : table.groups) {
    if (group.file < table.files.size() && (group.kept.empty() || group.kept.back() < group.rows))
      continue;
    return Error(Code::invalid_argument, "a group of rows that cannot be");
  }
  return std::shared_ptr<const TableRecords>(
      std::make_shared<Rows>(std::move(table), std::move(load)));
}

}  // namespace penstock::formats::table
