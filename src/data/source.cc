#include "data/source.h"

#include <algorithm>

#include "data/digest.h"

namespace penstock::data {

std::uint64_t Source::bytes(std::uint64_t) const noexcept {
  return 0;
}

std::uint64_t Source::bytes_of(std::span<const std::uint64_t> records) const noexcept {
  std::uint64_t sum = 0;
  for (const std::uint64_t record : records) sum += bytes(record);
  return sum;
}

void Source::read_many(std::span<const std::uint64_t> records, BufferPool& pool,
                       std::span<Row* const> into, std::span<Status> outcomes) const {
  for (std::size_t i = 0; i < records.size(); ++i) {
    outcomes[i] = read(records[i], pool, *into[i]);
  }
}

void Source::read_placed(std::span<const std::uint64_t> records, std::span<const std::uint32_t>,
                         std::span<const formats::Placement>, BufferPool&, std::span<Row* const>,
                         std::vector<formats::Failure>& failures) const {
  for (std::size_t i = 0; i < records.size(); ++i) {
    failures.push_back({i, Error(Code::internal, "this source does not place fields")});
  }
}

namespace {

void add_fields(const formats::Record& record, Row& into) {
  into.fields.reserve(into.fields.size() + record.fields.size());
  for (const formats::Field& field : record.fields) {
    const Buffer& memory = field.memory ? field.memory : record.memory;
    switch (field.kind) {
      case formats::FieldKind::integer:
        into.fields.push_back({std::string(field.name), field.integer});
        break;
      case formats::FieldKind::text:
        into.fields.push_back({std::string(field.name), Text{{field.bytes, memory, {}}}});
        break;
      case formats::FieldKind::bytes:
        into.fields.push_back({std::string(field.name), Bytes{field.bytes, memory, {}}});
        break;
      case formats::FieldKind::nothing:
        into.fields.push_back({std::string(field.name), std::monostate()});
        break;
    }
  }
}

class FormatSource final : public Source {
 public:
  explicit FormatSource(std::shared_ptr<const formats::Records> records)
      : records_(std::move(records)), tries_(records_->from_afar() ? 1 : kTries) {}

  std::uint64_t size() const noexcept override { return records_->size(); }
  const std::vector<std::string>& fields() const noexcept override { return records_->fields(); }
  std::string name(std::uint64_t record) const override { return records_->name(record); }
  std::uint64_t bytes(std::uint64_t record) const noexcept override {
    return records_->bytes(record);
  }
  std::uint64_t bytes_of(std::span<const std::uint64_t> records) const noexcept override {
    return records_->bytes_of(records);
  }
  std::uint64_t mean_bytes() const noexcept override { return records_->mean_bytes(); }
  std::uint64_t digest() const noexcept override { return records_->digest(); }
  std::uint64_t block() const noexcept override { return records_->block(); }
  std::uint64_t ahead() const noexcept override { return records_->ahead(); }
  void expect(std::span<const std::uint64_t> records) const override { records_->expect(records); }
  void advise(formats::Access access) const noexcept override { records_->advise(access); }
  bool on_disk() const noexcept override { return records_->on_disk(); }
  bool in_memory() const noexcept override { return records_->in_memory(); }
  void tell_places(std::span<const std::uint64_t> records,
                   storage::ReadAhead& ahead) const override {
    records_->tell_places(records, ahead);
  }

  Status read(std::uint64_t index, BufferPool& pool, Row& into) const override {
    thread_local formats::Record record;
    Status status;
    for (int k = 0; k < tries_; ++k) {
      status = records_->read(index, pool, record);
      if (status.ok() || status.error().code() != Code::io) break;
    }
    if (!status.ok()) return gone(std::move(status));
    add_fields(record, into);
    record.clear();
    return {};
  }

  bool from_afar() const noexcept override { return records_->from_afar(); }
  std::unique_ptr<formats::Fetch> fetch(std::span<const std::uint64_t> records) const override {
    return records_->fetch(records);
  }

  Status read_fetched(std::uint64_t, const Fetched& fetched, BufferPool&,
                      Row& into) const override {
    thread_local formats::Record record;
    Status status = fetched.fetch->take(fetched.number, record);
    if (!status.ok()) return gone(std::move(status));
    add_fields(record, into);
    record.clear();
    return {};
  }

  std::vector<formats::Placeable> placeable() const override { return records_->placeable(); }

  void read_placed(std::span<const std::uint64_t> indices, std::span<const std::uint32_t> slots,
                   std::span<const formats::Placement> placements, BufferPool& pool,
                   std::span<Row* const> into,
                   std::vector<formats::Failure>& failures) const override {
    thread_local std::vector<formats::Record> records;
    if (records.size() < into.size()) records.resize(into.size());
    const auto some = std::span(records).first(into.size());
    std::vector<formats::Failure> failed;
    records_->read_placed(indices, slots, placements, pool, some, failed);
    for (formats::Failure& one : failed) {
      Status status = std::move(one.error);
      for (int k = 1; k < tries_ && !status.ok() && status.error().code() == Code::io; ++k) {
        std::vector<formats::Failure> again;
        records_->read_placed(indices.subspan(one.index, 1), slots.subspan(one.index, 1),
                              placements, pool, into.empty() ? some : some.subspan(one.index, 1),
                              again);
        status = again.empty() ? Status() : Status(std::move(again[0].error));
      }
      if (!status.ok()) failures.push_back({one.index, gone(std::move(status)).error()});
    }
    for (std::size_t i = 0; i < into.size(); ++i) add_fields(some[i], *into[i]);
    for (formats::Record& record : some) record.clear();
  }

  void read_many(std::span<const std::uint64_t> indices, BufferPool& pool,
                 std::span<Row* const> into, std::span<Status> outcomes) const override {
    thread_local std::vector<formats::Record> records;
    if (records.size() < indices.size()) records.resize(indices.size());
    records_->read_many(indices, pool, std::span(records).first(indices.size()), outcomes);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (outcomes[i].ok()) {
        add_fields(records[i], *into[i]);
      } else if (outcomes[i].error().code() == Code::io && tries_ > 1) {
        outcomes[i] = read(indices[i], pool, *into[i]);
      } else {
        outcomes[i] = gone(std::move(outcomes[i]));
      }
      records[i].clear();
    }
  }

 private:
  static constexpr int kTries = 3;  // what the system refuses once it may grant a moment later

  // A file that was there when the records were opened is not one bad sample.
  static Status gone(Status status) {
    if (status.error().code() != Code::not_found) return status;
    const Error& error = status.error();
    Error io(Code::io, error.message() + "; it was there when the dataset was opened");
    if (!error.where().file.empty()) io.in_file(error.where().file);
    return io;
  }

  std::shared_ptr<const formats::Records> records_;
  int tries_;  // requests to servers are made several times as it is
};

class ArraySource final : public Source {
 public:
  ArraySource(std::vector<std::pair<std::string, Tensor>> arrays, RowWindow window)
      : arrays_(std::move(arrays)),
        window_(window),
        size_(static_cast<std::uint64_t>(arrays_[0].second.shape()[0])) {
    Digest all;
    all.add("arrays").add(size_);
    if (window_.size > 0) {
      all.add(window_.size).add(window_.stride);
      size_ = size_ < window_.size ? 0 : (size_ - window_.size) / window_.stride + 1;
    }
    for (const auto& [name, array] : arrays_) {
      names_.push_back(name);
      all.add(name).add(std::string_view(name_of(array.dtype())));
      for (const std::int64_t extent : array.shape()) all.add(static_cast<std::uint64_t>(extent));
      const auto rows = static_cast<std::uint64_t>(array.shape()[0]);
      mean_bytes_ += array.nbytes() / std::max<std::uint64_t>(rows, 1) *
                     std::max<std::uint64_t>(window_.size, 1);
    }
    digest_ = all.value();
  }

  std::uint64_t size() const noexcept override { return size_; }
  const std::vector<std::string>& fields() const noexcept override { return names_; }
  std::string name(std::uint64_t record) const override {
    return "row " + std::to_string(record * window_.stride);
  }
  std::uint64_t mean_bytes() const noexcept override {
    return std::max<std::uint64_t>(mean_bytes_, 1);
  }
  std::uint64_t digest() const noexcept override { return digest_; }
  bool in_memory() const noexcept override { return true; }

  Status read(std::uint64_t index, BufferPool&, Row& into) const override {
    for (const auto& [name, array] : arrays_) {
      const auto first = static_cast<std::int64_t>(index * window_.stride);
      const auto count = static_cast<std::int64_t>(window_.size);
      Result<Tensor> row = count == 0 ? array.row(first) : array.slice(0, first, first + count);
      if (!row) return std::move(row).error();
      into.fields.push_back({name, *std::move(row)});
    }
    return {};
  }

 private:
  std::vector<std::pair<std::string, Tensor>> arrays_;
  std::vector<std::string> names_;
  RowWindow window_;
  std::uint64_t size_, mean_bytes_ = 0, digest_ = 0;
};

class Elsewhere final : public Source {
 public:
  Elsewhere(std::uint64_t n, std::vector<std::string> fields, std::string name)
      : size_(n), fields_(std::move(fields)), name_(std::move(name)) {}
  std::uint64_t size() const noexcept override { return size_; }
  const std::vector<std::string>& fields() const noexcept override { return fields_; }
  Status read(std::uint64_t, BufferPool&, Row&) const override { return {}; }
  std::string name(std::uint64_t record) const override {
    return name_ + "[" + std::to_string(record) + "]";
  }
  std::uint64_t mean_bytes() const noexcept override { return 1; }
  std::uint64_t digest() const noexcept override {
    return Digest().add("elsewhere").add(size_).value();
  }
  bool elsewhere() const noexcept override { return true; }

 private:
  std::uint64_t size_;
  std::vector<std::string> fields_;
  std::string name_;
};

}  // namespace

SourcePtr source_of(std::shared_ptr<const formats::Records> records) {
  return std::make_shared<FormatSource>(std::move(records));
}

Result<SourcePtr> source_of_arrays(std::vector<std::pair<std::string, Tensor>> arrays,
                                   RowWindow window) {
  if (arrays.empty()) return Error(Code::invalid_argument, "from_arrays: give at least one array");
  for (const auto& [name, array] : arrays) {
    if (array.rank() == 0) {
      return Error(Code::invalid_argument,
                   "from_arrays: " + name + " is a single value; give an array of one per sample");
    }
    if (array.shape()[0] != arrays[0].second.shape()[0]) {
      return Error(Code::invalid_argument,
                   "from_arrays: " + arrays[0].first + " has " +
                       std::to_string(arrays[0].second.shape()[0]) + " rows, " + name + " has " +
                       std::to_string(array.shape()[0]) + "; all must have the same number");
    }
  }
  return SourcePtr(std::make_shared<ArraySource>(std::move(arrays), window));
}

SourcePtr source_elsewhere(std::uint64_t n, std::vector<std::string> fields, std::string name) {
  return std::make_shared<Elsewhere>(n, std::move(fields), std::move(name));
}

}  // namespace penstock::data
