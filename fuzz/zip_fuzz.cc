// Any bytes as a zip archive: its directory, and every member of it.
#include <cstddef>
#include <cstdint>

#include "formats/zip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const auto source = storage::source_over(std::as_bytes(std::span(data, size)), "fuzz");
  const Result<formats::ZipFile> zip = formats::ZipFile::open(source);
  if (!zip) return 0;
  BufferPool pool(std::size_t(64) << 20);
  [[maybe_unused]] static volatile unsigned sink;
  unsigned sum = 0;
  for (const formats::ZipFile::Member& member : zip->members()) {
    const Result<Buffer> bytes = zip->read(member, pool);
    if (!bytes) continue;
    for (std::size_t i = 0; i < member.size; ++i) sum += unsigned(bytes->bytes()[i]);
  }
  sink = sum;
  return 0;
}
