// Any bytes as an HDF5 file whose first bytes are a dataset's object header: where its chunks are.
#include <cstddef>
#include <cstdint>

#include "formats/chunked/hdf5/chunk_index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto source = storage::source_over(bytes, "fuzz");
  const auto places = formats::hdf5::read_chunk_index(*source, 0, {100, 4}, {10, 4});
  if (!places || !*places) return 0;
  for (const formats::hdf5::ChunkPlace& place : **places) {
    if (place.number >= 10 || place.offset + place.size > size) __builtin_trap();
  }
  return 0;
}
