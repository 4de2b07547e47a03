// IndexedRecords: Records over files that have an Index each. What tar shards and every later
// format of records in files share: finding a record, reading it, checking its hashes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "formats/index.h"
#include "formats/open.h"
#include "formats/records.h"
#include "storage/map.h"
#include "storage/open_files.h"
#include "storage/ranges.h"

namespace penstock::formats {

class IndexedRecords final : public Records {
 public:
  struct Shard {
    std::string name;
    storage::Stamp stamp;
    Index index;
  };
  // What differs from format to format.
  struct Traits {
    // What a number in Index::Bad means.
    Error (*explain)(std::uint64_t trouble, std::uint64_t offset, std::string_view key,
                     const std::string& file) = nullptr;
    bool keyed =
        true;  // records have keys, given as a field "__key__"; else numbers are their names
    // Bytes behind each part that are read with it, and what they say of it.
    std::uint64_t trailer = 0;
    bool (*check)(std::span<const std::byte> part,
                  std::span<const std::byte> trailer) noexcept = nullptr;
  };

  // Fails with no_field if no record has one of the fields that the options ask for.
  static Result<std::shared_ptr<const Records>> over(std::vector<Shard> shards,
                                                     const OpenOptions& options,
                                                     const Traits& traits);

  std::uint64_t size() const noexcept override { return firsts_.back(); }
  const std::vector<std::string>& fields() const noexcept override { return fields_; }
  Status read(std::uint64_t index, BufferPool& pool, Record& into) const override;
  void read_many(std::span<const std::uint64_t> indices, BufferPool& pool, std::span<Record> into,
                 std::span<Status> outcomes) const override;
  std::string name(std::uint64_t index) const override;
  std::uint64_t bytes(std::uint64_t index) const noexcept override;
  std::uint64_t bytes_of(std::span<const std::uint64_t> indices) const noexcept override;
  std::uint64_t largest() const noexcept override { return largest_; }
  std::uint64_t mean_bytes() const noexcept override { return mean_; }
  std::uint64_t digest() const noexcept override { return digest_; }
  bool from_afar() const noexcept override { return remote_; }
  std::unique_ptr<Fetch> fetch(std::span<const std::uint64_t> indices) const override;
  bool on_disk() const noexcept override { return !remote_; }
  void tell_places(std::span<const std::uint64_t> indices,
                   storage::ReadAhead& ahead) const override;
  Findings findings() const noexcept override { return findings_; }
  void advise(Access access) const noexcept override;

 private:
  class RemoteFetch;  // indexed_fetch.cc
  struct Opened {
    Index index;
    std::vector<std::uint16_t> fields;  // of the index, as indices into fields_, or kUnwanted
    std::shared_ptr<const storage::Map> map = {};
    Buffer memory = {};  // of the map; it keeps the index, too
  };
  struct Found {
    std::size_t shard = 0;
    std::uint64_t record = 0;  // in the shard
    Index::Entry entry;
  };
  struct Extent {
    std::uint64_t memory = 0;  // bytes that the parts take, without the key
    storage::Range range;      // of the file, from the first part to the last
    int pieces = 0;            // reads that it takes; with one, memory is the range
  };
  struct Wanted {  // one of many
    Found found;
    Extent extent;
    Record* into = nullptr;
    Status* outcome = nullptr;
  };
  static constexpr std::uint16_t kUnwanted = 0xffff;

  IndexedRecords(std::vector<std::string> names, std::vector<storage::Stamp> stamps)
      : files_(std::move(names), std::move(stamps)) {}
  Status add_fields(const std::vector<std::string>& wanted);
  Status map_files();

  std::uint64_t shard_of(std::uint64_t index) const noexcept;
  // Where record `index` is; an Error if it cannot be read.
  // Called with i = 0, 1, ... while records are looked up: those that come soon are asked for, so
  // that misses of the cache overlap. Records at random lie anywhere in the tables of the index.
  void look_ahead(std::span<const std::uint64_t> indices, std::size_t i) const noexcept;
  Status find(std::uint64_t index, Found& into) const;
  Status measure(const Found& found, Extent& into) const;
  Status read_found(const Found& found, const Extent& extent, BufferPool& pool, Record& into) const;
  void find_many(std::span<const std::uint64_t> indices, std::span<Record> into,
                 std::span<Status> outcomes, std::vector<Wanted>& wanted) const;
  // Many at once, from afar.
  void fetch_many(std::span<const std::uint64_t> indices, BufferPool& pool, std::span<Record> into,
                  std::span<Status> outcomes) const;
  void read_alone(const Wanted& wanted, BufferPool& pool) const;
  void read_shard(std::span<const Wanted> wanted, BufferPool& pool) const;
  Status still_whole(const Found& found) const;
  Status view_mapped(const Found& found, Record& into) const;
  // Makes fields of a record whose bytes are in memory, in one piece from `at` on, or as the layout
  // of its pieces says. The key is copied to `key_at`.
  Status view_fetched(const Found& found, const Extent& extent, const Buffer& memory,
                      std::size_t at, std::size_t key_at, Record& into) const;
  template <class Place>
  Status make_fields(const Found& found, const Buffer& memory, std::string_view key,
                     const Place& place, Record& into) const;
  Status verify(const Found& found, const Index::Part& part, std::uint64_t number,
                std::span<const std::byte> bytes) const;
  std::string key_of(const Found& found) const;  // for messages
  Error contradiction(const Found& found) const;
  Error located(Error error, const Found& found) const;

  storage::OpenFiles files_;
  std::vector<Opened> shards_;
  std::vector<std::uint64_t> firsts_{0};  // shard s has records firsts_[s] to firsts_[s + 1] - 1
  std::vector<std::string> fields_;
  std::uint64_t max_member_ = 0, largest_ = 0, mean_ = 1, digest_ = 0;
  bool mapped_ = false, remote_ = false;
  mutable std::atomic<bool> in_order_ = false;  // then the system reads ahead by itself
  Traits traits_;
  Findings findings_;
};

}  // namespace penstock::formats
