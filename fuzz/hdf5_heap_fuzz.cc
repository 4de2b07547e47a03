// Any bytes as an HDF5 file that begins with references to its global heap: 8 of them, as texts and
// as lists; then comes the header of an object whose fill value and attribute are such references.
#include <cstddef>
#include <cstdint>

#include "formats/chunked/hdf5/global_heap.h"
#include "formats/chunked/hdf5/stored_values.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  using namespace penstock::formats::hdf5;
  constexpr std::size_t kReferences = 8, kAll = kReferences * kReferenceBytes;
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
  const StoredValues values(source);
  for (const std::uint64_t base : {0, 8}) {
    const Stored::Object object{kAll - base, base};
    (void)values.fill(object, 1);
    const auto found = values.attribute(object, "a", 3, 1);
    if (found && found->size() != 3) __builtin_trap();
  }
  return 0;
}
