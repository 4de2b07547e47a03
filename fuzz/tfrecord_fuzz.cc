// Any bytes as a TFRecord file: read from front to back, and indexed. Both must find the same
// records. If the last byte is odd, checksums of lengths that fit are made right first: else nearly
// every change of a header would end there.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "formats/tfrecord/frame.h"
#include "formats/tfrecord/packing.h"
#include "formats/tfrecord/tfrecord.h"
#include "storage/stream.h"

namespace penstock::formats::tfrecord {
namespace {

void must(bool condition) {
  if (!condition) std::abort();
}

void mend(std::vector<std::byte>& bytes) {
  std::size_t at = 0;
  while (bytes.size() - at >= kHeaderBytes) {
    std::uint64_t length;
    std::memcpy(&length, &bytes[at], 8);
    const std::uint32_t crc = masked(crc32c({&bytes[at], 8}));
    std::memcpy(&bytes[at + 8], &crc, 4);
    const std::uint64_t left = bytes.size() - at - kHeaderBytes;
    if (length > left || length + kFooterBytes > left) return;
    at += kHeaderBytes + std::size_t(length) + kFooterBytes;
  }
}

// The sizes of records, and -1 for each that could not be read.
std::vector<std::int64_t> streamed(std::span<const std::byte> bytes) {
  BufferPool pool(std::size_t(256) << 20);
  OpenOptions options;
  options.verify = false;
  const auto stream = stream_memory(bytes, pool, options);
  std::vector<std::int64_t> sizes;
  Record record;
  for (;;) {
    const Result<bool> more = stream->next(record);
    if (more.ok() && !*more) return sizes;
    sizes.push_back(more.ok() ? std::int64_t(record.fields.at(0).bytes.size()) : -1);
    if (!more.ok()) must(record.fields.empty());
  }
}

}  // namespace
}  // namespace penstock::formats::tfrecord

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  using namespace penstock::formats::tfrecord;
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  if (size > 0 && (data[size - 1] & 1) != 0) mend(bytes);
  const std::vector<std::int64_t> sizes = streamed(bytes);
  if (packing_of(std::span(bytes).first(std::min<std::size_t>(size, 12))) != Packing::none)
    return 0;
  const auto stream = storage::stream_over(bytes, "fuzz");
  const Result<formats::Index> index = make_index(*stream, {size, 0}, (size & 1) != 0);
  if (!index) return 0;
  must(index->records() == sizes.size());
  for (std::uint64_t i = 0; i < index->records(); ++i) {
    formats::Index::Entry entry;
    must(index->entry(i, entry));
    must((index->bad(i) != nullptr) == (sizes[i] < 0));
    if (index->bad(i) != nullptr) continue;
    formats::Index::Part part;
    must(entry.count == 1 && index->part(i, entry.first, part));
    must(std::int64_t(part.size) == sizes[i]);
  }
  return 0;
}
