#include "formats/chunked/zarr/shards.h"

#include <cstring>
#include <list>
#include <mutex>
#include <unordered_map>

#include "formats/crc32c.h"

namespace penstock::formats::zarr {
namespace {

using chunked::Extents;
using chunked::Packed;
using storage::Source;

// The place in a grid of the one with this number, in C order.
Extents cell_of(std::uint64_t number, const Extents& grid) {
  Extents cell(grid.size());
  for (std::size_t d = grid.size(); d-- > 0; number /= grid[d]) cell[d] = number % grid[d];
  return cell;
}

class ChunkFiles final : public chunked::ChunkBytes {
 public:
  ChunkFiles(std::shared_ptr<const Store> store, std::string prefix, const Metadata& metadata)
      : store_(std::move(store)), prefix_(std::move(prefix)), metadata_(metadata) {}

  Result<Packed> read(std::uint64_t chunk, BufferPool& pool) const override {
    Result<std::optional<Buffer>> value = store_->read(key(chunk), pool);
    if (!value) return std::move(value).error();
    if (!*value) return Packed();
    Packed packed;
    packed.memory = **std::move(value);
    packed.bytes = packed.memory.bytes();
    return packed;
  }
  std::string name(std::uint64_t chunk) const override { return store_->name(key(chunk)); }
  // From afar it is one request to read it, and another one to know where it is.
  std::optional<chunked::ChunkAt> place(std::uint64_t chunk) const override {
    if (storage::is_url(store_->name())) return std::nullopt;
    const Result<std::shared_ptr<const Source>> source = store_->open(key(chunk));
    if (!source || *source == nullptr) return std::nullopt;
    return chunked::ChunkAt{{*source, {0, (*source)->size()}}};
  }

 private:
  std::string key(std::uint64_t chunk) const {
    return prefix_ + chunk_key(metadata_, cell_of(chunk, metadata_.array.grid));
  }

  std::shared_ptr<const Store> store_;
  std::string prefix_;
  Metadata metadata_;
};

// A shard that is open, with its index.
struct Shard {
  std::shared_ptr<const Source> source;  // null: there is no such shard
  std::vector<ShardEntry> index;
};

class ShardFiles final : public chunked::ChunkBytes {
 public:
  ShardFiles(std::shared_ptr<const Store> store, std::string prefix, const Metadata& metadata)
      : store_(std::move(store)), prefix_(std::move(prefix)), metadata_(metadata) {
    const Sharding& sharding = *metadata_.sharding;
    for (std::size_t d = 0; d < sharding.shard.size(); ++d) {
      const std::uint64_t extent = metadata_.array.shape[d], shard = sharding.shard[d];
      grid_.push_back(extent / shard + (extent % shard != 0 ? 1 : 0));
      inside_.push_back(shard / metadata_.array.chunk[d]);
      inside_count_ *= inside_.back();
    }
  }

  Result<Packed> read(std::uint64_t chunk, BufferPool& pool) const override {
    const auto [number, part] = find(chunk);
    const Result<std::shared_ptr<const Shard>> shard = open(number);
    if (!shard) return shard.error();
    if ((*shard)->source == nullptr) return Packed();
    const ShardEntry entry = (*shard)->index[std::size_t(part)];
    if (entry.offset == ShardEntry::kNone && entry.size == ShardEntry::kNone) return Packed();
    Result<Buffer> memory = pool.allocate(std::max<std::size_t>(std::size_t(entry.size), 1));
    if (!memory) return Error(memory.error()).in_file(name(chunk));
    Packed packed;
    packed.bytes = memory->bytes().first(std::size_t(entry.size));
    Status status = (*shard)->source->read(entry.offset, memory->bytes().first(entry.size));
    if (!status) return std::move(status).error();
    packed.memory = *std::move(memory);
    return packed;
  }
  std::string name(std::uint64_t chunk) const override {
    return store_->name(key(find(chunk).first));
  }
  std::optional<chunked::ChunkAt> place(std::uint64_t chunk) const override {
    const auto [number, part] = find(chunk);
    const Result<std::shared_ptr<const Shard>> shard = open(number);
    if (!shard || (*shard)->source == nullptr) return std::nullopt;
    const ShardEntry entry = (*shard)->index[std::size_t(part)];
    if (entry.offset == ShardEntry::kNone && entry.size == ShardEntry::kNone) return std::nullopt;
    return chunked::ChunkAt{{(*shard)->source, {entry.offset, entry.size}}};
  }

 private:
  static constexpr std::size_t kMostOpen = 128;

  // The shard of a chunk, and which of its parts the chunk is.
  std::pair<std::uint64_t, std::uint64_t> find(std::uint64_t chunk) const {
    const Extents cell = cell_of(chunk, metadata_.array.grid);
    std::uint64_t shard = 0, part = 0;
    for (std::size_t d = 0; d < cell.size(); ++d) {
      shard = shard * grid_[d] + cell[d] / inside_[d];
      part = part * inside_[d] + cell[d] % inside_[d];
    }
    return {shard, part};
  }
  std::string key(std::uint64_t shard) const {
    return prefix_ + chunk_key(metadata_, cell_of(shard, grid_));
  }

  Result<std::shared_ptr<const Shard>> open(std::uint64_t number) const {
    {
      const std::lock_guard hold(mutex_);
      const auto found = open_.find(number);
      if (found != open_.end()) {
        used_last_.splice(used_last_.end(), used_last_, found->second.second);
        return found->second.first;
      }
    }
    Result<std::shared_ptr<const Shard>> shard = load(number);
    if (!shard) return shard;
    const std::lock_guard hold(mutex_);
    if (open_.contains(number)) return shard;  // another thread was here as well
    if (open_.size() >= kMostOpen) {
      open_.erase(used_last_.front());
      used_last_.pop_front();
    }
    open_.emplace(number, std::pair(*shard, used_last_.insert(used_last_.end(), number)));
    return shard;
  }

  Result<std::shared_ptr<const Shard>> load(std::uint64_t number) const {
    const auto shard = std::make_shared<Shard>();
    const std::string name = key(number);
    Result<std::shared_ptr<const Source>> source = store_->open(name);
    if (!source) return std::move(source).error();
    shard->source = *std::move(source);
    if (shard->source == nullptr) return std::shared_ptr<const Shard>(shard);
    const Sharding& sharding = *metadata_.sharding;
    const std::uint64_t size = shard->source->size();
    const std::uint64_t check = sharding.checked ? 4 : 0;
    if (size < check || inside_count_ > (size - check) / 16) {
      return Error(Code::corrupt, "the shard is shorter than its index: was it cut off?")
          .in_file(store_->name(name));
    }
    std::vector<std::byte> bytes(std::size_t(inside_count_ * 16 + check));
    Status status = shard->source->read(sharding.index_first ? 0 : size - bytes.size(), bytes);
    if (!status) return std::move(status).error();
    Result<std::vector<ShardEntry>> index = parse_shard_index(bytes, inside_count_, sharding, size);
    if (!index) return std::move(index).error().in_file(store_->name(name));
    shard->index = *std::move(index);
    return std::shared_ptr<const Shard>(shard);
  }

  std::shared_ptr<const Store> store_;
  std::string prefix_;
  Metadata metadata_;
  Extents grid_, inside_;  // of shards; of the chunks in one
  std::uint64_t inside_count_ = 1;

  using Order = std::list<std::uint64_t>;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::uint64_t,
                             std::pair<std::shared_ptr<const Shard>, Order::iterator>>
      open_;
  mutable Order used_last_;
};

std::uint64_t number_at(const std::byte* at, bool big_endian) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i)
    value = value << 8 | std::uint64_t(at[big_endian ? i : 7 - i]);
  return value;
}

}  // namespace

Result<std::vector<ShardEntry>> parse_shard_index(std::span<const std::byte> bytes,
                                                  std::uint64_t chunks, const Sharding& sharding,
                                                  std::uint64_t shard_size) {
  const std::size_t check = sharding.checked ? 4 : 0;
  if (bytes.size() < check || (bytes.size() - check) / 16 != chunks) {
    return Error(Code::corrupt, "the shard's index has the wrong size");
  }
  const std::span<const std::byte> numbers = bytes.first(bytes.size() - check);
  if (sharding.checked) {
    std::uint32_t stored = 0;
    for (std::size_t i = 4; i-- > 0;) {
      stored = stored << 8 | std::uint32_t(bytes[numbers.size() + i]);
    }
    if (crc32c(numbers) != stored) {
      return Error(Code::corrupt, "the checksum of the shard's index is wrong");
    }
  }
  std::vector<ShardEntry> index{std::size_t(chunks)};
  for (std::size_t i = 0; i < index.size(); ++i) {
    ShardEntry& entry = index[i];
    entry.offset = number_at(numbers.data() + 16 * i, sharding.big_endian);
    entry.size = number_at(numbers.data() + 16 * i + 8, sharding.big_endian);
    if (entry.offset == ShardEntry::kNone && entry.size == ShardEntry::kNone) continue;
    if (entry.offset > shard_size || entry.size > shard_size - entry.offset) {
      return Error(Code::corrupt, "the shard's index is wrong: chunk " + std::to_string(i) +
                                      " lies outside the shard");
    }
  }
  return index;
}

std::shared_ptr<const chunked::ChunkBytes> chunk_files(std::shared_ptr<const Store> store,
                                                       std::string prefix,
                                                       const Metadata& metadata) {
  return std::make_shared<ChunkFiles>(std::move(store), std::move(prefix), metadata);
}

std::shared_ptr<const chunked::ChunkBytes> shard_files(std::shared_ptr<const Store> store,
                                                       std::string prefix,
                                                       const Metadata& metadata) {
  return std::make_shared<ShardFiles>(std::move(store), std::move(prefix), metadata);
}

}  // namespace penstock::formats::zarr
