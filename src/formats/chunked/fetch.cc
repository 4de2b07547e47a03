#include "formats/chunked/fetch.h"

namespace penstock::formats::chunked {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t(32) << 20;  // of a fetch

}  // namespace

bool ComingChunks::add(const Key& key, const RangeFetch& fetch, std::size_t number,
                       std::uint32_t skipped) {
  const std::lock_guard hold(mutex_);
  return coming_.try_emplace(key, One{&fetch, number, skipped}).second;
}

bool ComingChunks::contains(const Key& key) const {
  const std::lock_guard hold(mutex_);
  return coming_.contains(key);
}

std::optional<Result<Packed>> ComingChunks::find(const Key& key) const {
  const std::lock_guard hold(mutex_);
  const auto found = coming_.find(key);
  if (found == coming_.end() || !found->second.fetch->ready()) return std::nullopt;
  const One& one = found->second;
  Result<RangeFetch::Piece> piece = one.fetch->get(one.number);
  if (!piece && piece.error().code() == Code::io) return std::move(piece).error();
  if (!piece) return std::nullopt;
  return Packed{std::move(piece->memory), piece->bytes, one.skipped};
}

void ComingChunks::forget(const RangeFetch& fetch) {
  const std::lock_guard hold(mutex_);
  std::erase_if(coming_, [&](const auto& one) { return one.second.fetch == &fetch; });
}

void RowFetch::want_chunk(std::size_t array, std::uint64_t chunk) {
  if (wanted_ >= kMostBytes || coming_.contains({array, chunk})) return;
  std::optional<ChunkAt> place = arrays_[array].chunks->place(chunk);
  if (!place) return;
  wanted_ += place->at.range.size;
  const std::size_t number = ranges_.add(std::move(place->at));
  coming_.add({array, chunk}, ranges_, number, place->skipped);
}

void RowFetch::want_rows(std::size_t k, std::size_t array, std::uint64_t first,
                         std::uint64_t count) {
  if (wanted_ >= kMostBytes) return;
  std::optional<BytesAt> place = arrays_[array].rows->place(first, count, arrays_[array].row_bytes);
  if (!place) return;
  wanted_ += place->range.size;
  rows_.emplace(std::pair(k, array), ranges_.add(*std::move(place)));
}

bool RowFetch::plan(std::uint64_t row_bytes) {
  ranges_.merge();
  row_bytes_ = row_bytes;
  return ranges_.size() > 0;
}

void RowFetch::start(BufferPool& pool, std::function<void()> done) {
  pool_ = &pool;
  ranges_.start(pool, std::move(done));
}

std::optional<Result<std::span<const std::byte>>> RowFetch::rows(std::size_t k,
                                                                 std::size_t array) const {
  const auto found = rows_.find({k, array});
  if (found == rows_.end()) return std::nullopt;
  const Result<RangeFetch::Piece> piece = ranges_.get(found->second);
  if (!piece && piece.error().code() == Code::io) return piece.error();
  if (!piece) return std::nullopt;
  return piece->bytes;
}

}  // namespace penstock::formats::chunked
