#include "formats/chunked/hdf5/varying_rows.h"

#include <algorithm>

#include "formats/chunked/rows.h"

namespace penstock::formats::hdf5 {
namespace {

constexpr std::uint64_t kReferenceCache = std::uint64_t(4) << 20;

class Rows final : public chunked::RowReader {
 public:
  Rows(std::string name, std::vector<std::byte> fill, const VaryingRows& rows,
       std::shared_ptr<const chunked::ArrayRecords> references)
      : name_(std::move(name)),
        fill_(std::move(fill)),
        text_(rows.text),
        item_bytes_(rows.item_bytes),
        heap_(rows.source, rows.base),
        references_(std::move(references)) {}

  Status read(std::uint64_t, std::uint64_t, std::span<std::byte>) const override {
    return Error(Code::internal, "these rows have no length in common");
  }

  Status read_one(std::uint64_t row, std::vector<std::byte>& into) const override {
    Status status = follow(row, into);
    if (!status) return named(std::move(status).error(), row);
    if (text_) into.erase(std::find(into.begin(), into.end(), std::byte(0)), into.end());
    return {};
  }

 private:
  Status follow(std::uint64_t row, std::vector<std::byte>& into) const {
    Record record;
    std::span<const std::byte> reference = fill_;
    if (references_ != nullptr) {
      if (Status status = references_->read(row, pool_, record); !status) return status;
      reference = record.fields[0].bytes;
    }
    return heap_.read(reference.first<kReferenceBytes>(), item_bytes_, into);
  }

  Error named(const Error& error, std::uint64_t row) const {
    Error all(error.code(),
              "dataset '" + name_ + "', row " + std::to_string(row) + ": " + error.message());
    const Where& where = error.where();
    if (!where.file.empty()) all.in_file(where.file);
    if (where.offset >= 0) all.at_offset(where.offset);
    return all;
  }

  std::string name_;
  std::vector<std::byte> fill_;
  bool text_;
  std::uint64_t item_bytes_;
  GlobalHeap heap_;
  mutable BufferPool pool_;
  std::shared_ptr<const chunked::ArrayRecords> references_;  // null: there are none
};

}  // namespace

Result<std::shared_ptr<const chunked::RowReader>> varying_rows(chunked::Array references,
                                                               const VaryingRows& rows) {
  references.fill.resize(kReferenceBytes);
  std::string name = references.name;
  std::vector<std::byte> fill = references.fill;
  std::shared_ptr<const chunked::ArrayRecords> opened;
  if (references.chunks != nullptr || references.rows != nullptr) {
    std::string place = references.place;
    std::vector<chunked::Array> arrays;
    arrays.push_back(std::move(references));
    auto records = chunked::open_rows(std::move(arrays), {kReferenceCache}, std::move(place));
    if (!records) return std::move(records).error();
    opened = *std::move(records);
  }
  return std::shared_ptr<const chunked::RowReader>(
      std::make_shared<Rows>(std::move(name), std::move(fill), rows, std::move(opened)));
}

}  // namespace penstock::formats::hdf5
