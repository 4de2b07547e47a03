// Any text as a Zarr array's metadata or as what was consolidated; any bytes as a shard's index.
// The first byte says which.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "formats/chunked/zarr/metadata.h"
#include "formats/chunked/zarr/shards.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock::formats;
  if (size == 0) return 0;
  const std::uint8_t kind = data[0];
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  if (kind % 4 == 2) {
    (void)zarr::consolidated(text, kind & 4 ? 2 : 3);
    (void)zarr::is_array(text);
    return 0;
  }
  if (kind % 4 == 3) {
    zarr::Sharding sharding;
    sharding.checked = (kind & 4) != 0;
    sharding.big_endian = (kind & 8) != 0;
    const std::uint64_t chunks = text.size() < 4 ? 0 : (text.size() - (kind & 4)) / 16;
    const auto index = zarr::parse_shard_index(std::as_bytes(std::span(text)), chunks, sharding,
                                               std::uint64_t(1) << 40);
    if (index && index->size() != chunks) __builtin_trap();
    return 0;
  }
  auto metadata = zarr::parse_array(text, kind % 4 == 0 ? 3 : 2);
  if (!metadata) return 0;
  metadata->array.name = "x";
  if (!check(metadata->array)) return 0;
  if (metadata->array.fill.size() != metadata->array.element.bytes) __builtin_trap();
  (void)chunk_key(*metadata, chunked::Extents(metadata->array.shape.size(), 7));
  return 0;
}
