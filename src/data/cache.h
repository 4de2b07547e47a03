// A source that keeps what it has read: records with the work that was done on them, in memory of
// its own, until a limit is reached. What does not fit is read and worked on each time.
//
// The steps must give the same each time: they are run once, with no chance in them. Arrays that
// come out of it are read-only, kept or not.
#pragma once

#include <cstdint>
#include <vector>

#include "data/source.h"
#include "data/steps.h"

namespace penstock::data {

class CachedSource final : public Source {
 public:
  // `limit` in bytes of records, with what it takes to find them.
  CachedSource(SourcePtr source, std::vector<StepPtr> steps, std::uint64_t limit);
  ~CachedSource() override;

  std::uint64_t size() const noexcept override { return source_->size(); }
  const std::vector<std::string>& fields() const noexcept override { return source_->fields(); }
  Status read(std::uint64_t record, BufferPool& pool, Row& into) const override;
  bool from_afar() const noexcept override { return source_->from_afar(); }
  std::unique_ptr<formats::Fetch> fetch(std::span<const std::uint64_t> records) const override {
    return source_->fetch(records);
  }
  bool at_hand(std::uint64_t record) const override;
  Status read_fetched(std::uint64_t record, const Fetched& fetched, BufferPool& pool,
                      Row& into) const override;
  std::string name(std::uint64_t record) const override { return source_->name(record); }
  std::uint64_t bytes(std::uint64_t record) const noexcept override {
    return source_->bytes(record);
  }
  std::uint64_t bytes_of(std::span<const std::uint64_t> records) const noexcept override {
    return source_->bytes_of(records);
  }
  std::uint64_t mean_bytes() const noexcept override { return source_->mean_bytes(); }
  std::uint64_t digest() const noexcept override { return source_->digest(); }
  std::uint64_t block() const noexcept override { return source_->block(); }
  void advise(formats::Access access) const noexcept override { source_->advise(access); }
  bool on_disk() const noexcept override { return source_->on_disk(); }
  void tell_places(std::span<const std::uint64_t> records,
                   storage::ReadAhead& ahead) const override;

  std::uint64_t used() const noexcept;  // bytes

 private:
  struct Store;

  Status keep(std::uint64_t record, const Row& row) const;

  SourcePtr source_;
  std::vector<StepPtr> steps_;
  std::unique_ptr<Store> store_;
};

}  // namespace penstock::data
