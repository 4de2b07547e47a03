// Any bytes as an HDF5 file that begins with 7 references to its global heap, followed as texts and
// as lists. Behind them it says what addresses are relative to, and that of the header of an object
// with a fill value and attributes of any length. With checksums that matter and that do not.
#include <cstddef>
#include <cstdint>

#include "formats/chunked/hdf5/global_heap.h"
#include "formats/chunked/hdf5/stored_values.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  using namespace penstock::formats::hdf5;
  constexpr std::size_t kReferences = 7, kAll = kReferences * kReferenceBytes;
  const auto bytes = std::as_bytes(std::span(data, size));
  const std::shared_ptr<const storage::Source> source = storage::source_over(bytes, "fuzz");
  const GlobalHeap heap(source, 0, 1 << 16), uncached(source, 0, 0);
  for (std::size_t at = 0; at + kReferenceBytes <= std::min(size, kAll); at += kReferenceBytes) {
    const auto reference = bytes.subspan(at).first<kReferenceBytes>();
    for (const std::uint64_t item : {1, 8}) {
      Bytes value, again;
      const Status status = heap.read(reference, item, value);
      if (status.ok() && value.size() > size) __builtin_trap();
      if (status.ok() != uncached.read(reference, item, again).ok() || value != again) {
        __builtin_trap();
      }
    }
  }
  Reader reader(bytes.subspan(std::min(size, kAll)));
  const std::uint64_t base = reader.number(8), header = reader.number(8);
  for (const bool checksums : {true, false}) {
    const StoredValues values(source, checksums);
    (void)values.fill({header, base}, 1);
    const auto found = values.attribute({header, base}, "a", 3, 1);
    if (found && found->size() != 3) __builtin_trap();
  }
  return 0;
}
