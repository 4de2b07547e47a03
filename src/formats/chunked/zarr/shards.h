// Where the chunks of a Zarr array are: each a value of its own, or many in a shard.
#pragma once

#include <memory>
#include <string>

#include "formats/chunked/zarr/metadata.h"
#include "formats/chunked/zarr/store.h"

namespace penstock::formats::zarr {

// `prefix` of keys: empty, or the array's path with a slash at the end. The array was checked.
std::shared_ptr<const chunked::ChunkBytes> chunk_files(std::shared_ptr<const Store> store,
                                                       std::string prefix,
                                                       const Metadata& metadata);
std::shared_ptr<const chunked::ChunkBytes> shard_files(std::shared_ptr<const Store> store,
                                                       std::string prefix,
                                                       const Metadata& metadata);

// A shard's index: where each of its chunks begins and how long it is, two numbers of 64 bits for
// each; both are all ones where there is none.
struct ShardEntry {
  static constexpr std::uint64_t kNone = ~std::uint64_t(0);
  std::uint64_t offset = kNone, size = kNone;
};
// `bytes` is the index, with its checksum if there is one; `shard_size` that of all of the shard.
Result<std::vector<ShardEntry>> parse_shard_index(std::span<const std::byte> bytes,
                                                  std::uint64_t chunks, const Sharding& sharding,
                                                  std::uint64_t shard_size);

}  // namespace penstock::formats::zarr
