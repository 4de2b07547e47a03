// RowFetch: what rows from afar need, fetched before they are read: packed chunks, and rows that
// lie in the file as they are. ComingChunks knows the chunks of all fetches, so that a chunk that
// several batches need is fetched once.
//
// Thread safety: ComingChunks: any thread. RowFetch: as Fetch (formats/records.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "formats/chunked/array.h"
#include "formats/range_fetch.h"
#include "formats/records.h"

namespace penstock::formats::chunked {

class ComingChunks {
 public:
  struct Key {
    std::size_t array = 0;
    std::uint64_t chunk = 0;
    auto operator<=>(const Key&) const = default;
  };

  // False: it is coming already.
  bool add(const Key& key, const RangeFetch& fetch, std::size_t number, std::uint32_t skipped);
  bool contains(const Key& key) const;
  // Its bytes, once they are there, or why the server does not give them. What could not be fetched
  // for other reasons is not there.
  std::optional<Result<Packed>> find(const Key& key) const;
  void forget(const RangeFetch& fetch);

 private:
  struct One {
    const RangeFetch* fetch = nullptr;
    std::size_t number = 0;
    std::uint32_t skipped = 0;
  };
  mutable std::mutex mutex_;
  std::map<Key, One> coming_;
};

class RowFetch final : public Fetch {
 public:
  // How record k is read when all is there.
  using Take = std::function<Status(std::size_t k, const RowFetch&, BufferPool&, Record&)>;

  RowFetch(const std::vector<Array>& arrays, ComingChunks& coming, Take take)
      : arrays_(arrays), coming_(coming), take_(std::move(take)) {}
  ~RowFetch() override { coming_.forget(ranges_); }

  // What record k needs; more than a budget of bytes is left to be read when its time comes.
  void want_chunk(std::size_t array, std::uint64_t chunk);
  void want_rows(std::size_t k, std::size_t array, std::uint64_t first, std::uint64_t count);
  // When all is told; false: there is nothing to fetch. `row_bytes`: what take() takes from the
  // pool for all records.
  bool plan(std::uint64_t row_bytes);

  std::uint64_t bytes() const noexcept override { return ranges_.bytes() + row_bytes_; }
  void start(BufferPool& pool, std::function<void()> done) override;
  bool ready() const noexcept override { return ranges_.ready(); }
  Status take(std::size_t k, Record& into) const override { return take_(k, *this, *pool_, into); }

  // The rows of record k, in the file's byte order, if they were fetched; or why not, as above.
  std::optional<Result<std::span<const std::byte>>> rows(std::size_t k, std::size_t array) const;

 private:
  const std::vector<Array>& arrays_;
  ComingChunks& coming_;
  Take take_;
  RangeFetch ranges_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> rows_;  // (k, array): its number
  std::uint64_t wanted_ = 0, row_bytes_ = 0;
  BufferPool* pool_ = nullptr;  // that of start()
};

}  // namespace penstock::formats::chunked
