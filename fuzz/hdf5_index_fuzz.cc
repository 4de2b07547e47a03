// Any bytes as an HDF5 file whose first bytes are a dataset's object header: where its chunks are.
// In whichever dimension it may grow, and with checksums that matter and that do not.
#include <cstddef>
#include <cstdint>

#include "formats/chunked/hdf5/chunk_index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  constexpr std::uint64_t kEndless = ~std::uint64_t(0);
  const std::vector<std::uint64_t> kinds[] = {
      {100, 4}, {200, 12}, {kEndless, 4}, {150, kEndless}, {kEndless, kEndless}};
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto source = storage::source_over(bytes, "fuzz");
  for (const std::vector<std::uint64_t>& most : kinds) {
    for (const bool checksums : {true, false}) {
      const auto places =
          formats::hdf5::read_chunk_index(*source, {0, 0, {100, 4}, most, {10, 2}, checksums});
      if (!places || !*places) continue;
      for (const formats::hdf5::ChunkPlace& place : **places) {
        if (place.number >= 20 || place.offset + place.size > size) __builtin_trap();
      }
    }
  }
  return 0;
}
