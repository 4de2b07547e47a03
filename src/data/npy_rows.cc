// Rows of a .npy file as a source: straight into a batch, or arrays in memory of their own; never
// views of the file.
#include <algorithm>
#include <atomic>
#include <vector>

#include "data/digest.h"
#include "data/source.h"
#include "formats/npy/rows.h"

namespace penstock::data {
namespace {

class NpyRows final : public Source {
 public:
  NpyRows(std::shared_ptr<const formats::npy::Rows> rows, RowWindow window)
      : rows_(std::move(rows)),
        stride_(window.size == 0 ? 1 : window.stride),
        count_(std::max<std::uint64_t>(window.size, 1)),
        bytes_(rows_->row_bytes() * count_) {
    const std::uint64_t there = rows_->size();
    size_ = there < count_ ? 0 : (there - count_) / stride_ + 1;
    std::vector<std::int64_t> shape = rows_->header().shape;
    if (window.size == 0) {
      shape.erase(shape.begin());
    } else {
      shape[0] = std::int64_t(count_);
    }
    shape_ = Dims(std::span<const std::int64_t>(shape));
    Digest all;
    all.add("npy").add(there).add(window.size).add(stride_).add(rows_->header().descr);
    for (const std::int64_t extent : shape) all.add(std::uint64_t(extent));
    digest_ = all.value();
  }

  std::uint64_t size() const noexcept override { return size_; }
  const std::vector<std::string>& fields() const noexcept override { return names_; }
  std::string name(std::uint64_t record) const override {
    return rows_->path() + ":" + std::to_string(record * stride_);
  }
  std::uint64_t bytes(std::uint64_t) const noexcept override { return bytes_; }
  std::uint64_t mean_bytes() const noexcept override { return std::max<std::uint64_t>(bytes_, 1); }
  std::uint64_t digest() const noexcept override { return digest_; }

  Status read(std::uint64_t record, BufferPool& pool, Row& into) const override {
    Status outcome;
    Row* const row = &into;
    read_many({&record, 1}, pool, {&row, 1}, {&outcome, 1});
    return outcome;
  }

  // All in one block of memory.
  void read_many(std::span<const std::uint64_t> records, BufferPool& pool,
                 std::span<Row* const> into, std::span<Status> outcomes) const override {
    const std::size_t all = bytes_ * records.size();
    const Result<Buffer> memory = pool.allocate(std::max<std::size_t>(all, 1));
    if (!memory) {
      std::fill(outcomes.begin(), outcomes.end(), Status(memory.error()));
      return;
    }
    std::vector<std::byte*> places;
    for (std::size_t k = 0; k < records.size(); ++k) places.push_back(memory->data() + k * bytes_);
    rows_->read(firsts(records), count_, places, outcomes);
    for (std::size_t k = 0; k < records.size(); ++k) {
      if (!outcomes[k].ok()) continue;
      Result<Tensor> row = Tensor::over(*memory, *rows_->header().dtype, shape_, k * bytes_);
      if (row) {
        into[k]->fields.push_back({names_[0], *std::move(row)});
      } else {
        outcomes[k] = std::move(row).error();
      }
    }
  }

  bool on_disk() const noexcept override { return true; }
  bool in_memory() const noexcept override { return true; }
  void tell_places(std::span<const std::uint64_t> records,
                   storage::ReadAhead& ahead) const override {
    if (!in_order_) rows_->tell_places(firsts(records), count_, ahead);
  }
  void advise(formats::Access access) const noexcept override {
    in_order_ = access == formats::Access::sequential;
  }

  std::vector<formats::Placeable> placeable() const override {
    if (shape_.rank() >= Dims::max_rank) return {};  // a batch has one dimension more
    return {{0, *rows_->header().dtype, {shape_.begin(), shape_.end()}}};
  }

  void read_placed(std::span<const std::uint64_t> records, std::span<const std::uint32_t> slots,
                   std::span<const formats::Placement> placements, BufferPool&,
                   std::span<Row* const>, std::vector<formats::Failure>& failures) const override {
    std::vector<std::byte*> places(records.size());
    std::vector<Status> outcomes(records.size());
    for (const formats::Placement& one : placements) {
      for (std::size_t k = 0; k < slots.size(); ++k) places[k] = one.to + slots[k] * bytes_;
      rows_->read(firsts(records), count_, places, outcomes);
      for (std::size_t k = 0; k < outcomes.size(); ++k) {
        if (!outcomes[k].ok()) failures.push_back({k, std::move(outcomes[k]).error()});
      }
    }
  }

 private:
  std::vector<std::uint64_t> firsts(std::span<const std::uint64_t> records) const {
    std::vector<std::uint64_t> all(records.begin(), records.end());
    for (std::uint64_t& first : all) first *= stride_;
    return all;
  }

  std::shared_ptr<const formats::npy::Rows> rows_;
  std::vector<std::string> names_{"data"};
  std::uint64_t stride_, count_, size_ = 0, digest_ = 0;
  std::size_t bytes_;
  Dims shape_;
  mutable std::atomic<bool> in_order_ = false;  // then the system reads ahead by itself
};

}  // namespace

Result<SourcePtr> source_of_npy(const std::string& path, RowWindow window) {
  Result<std::shared_ptr<const formats::npy::Rows>> rows = formats::npy::Rows::open(path);
  if (!rows) return std::move(rows).error();
  if (!(*rows)->header().dtype) {
    return Error(Code::unsupported,
                 "rows of dtype '" + (*rows)->header().descr + "' are no rows of numbers")
        .in_file(path);
  }
  if (window.size > 0 && (*rows)->row_bytes() > (std::uint64_t(1) << 40) / window.size) {
    return Error(Code::invalid_argument, "window: a sample would be larger than 1 TB")
        .in_file(path);
  }
  return SourcePtr(std::make_shared<NpyRows>(*std::move(rows), window));
}

}  // namespace penstock::data
