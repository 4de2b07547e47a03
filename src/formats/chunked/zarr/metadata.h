// What a Zarr array's metadata says: zarr.json of version 3, .zarray of version 2.
// https://zarr-specs.readthedocs.io/
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/chunked/array.h"
#include "penstock/error.h"

namespace penstock::formats::zarr {

// Chunks that are kept together in one file, with an index of where each is.
struct Sharding {
  chunked::Extents shard;  // the shape of what one file holds; Array::chunk is that of a part of it
  bool index_first = false;
  bool checked = false;  // a CRC-32C follows the index
  bool big_endian = false;
};

struct Metadata {
  chunked::Array array;  // all but name, place and chunks
  std::optional<Sharding> sharding;
  std::string prefix;  // of chunks' keys: "c" or nothing
  char separator = '/';
};

inline constexpr std::size_t kMostMetadataBytes = std::size_t(64) << 20;

// Fails with corrupt if this is not an array's metadata, with unsupported if it needs a codec or
// type that is not read here.
Result<Metadata> parse_array(std::string_view json, int version);

// What is below a group, told by metadata that was put together ("consolidated") at the group.
struct Node {
  std::string path;  // "train/image", relative to the group
  std::string json;  // of an array; empty for a group
};
// Of zarr.json (version 3) or .zmetadata (version 2). Nothing: there is none.
Result<std::optional<std::vector<Node>>> consolidated(std::string_view json, int version);

// Of a zarr.json: is it an array? Else it is a group.
Result<bool> is_array(std::string_view json);

// The key of a chunk: "c/0/3", "0.3".
std::string chunk_key(const Metadata& metadata, const chunked::Extents& cell);

}  // namespace penstock::formats::zarr
