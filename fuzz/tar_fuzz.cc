// Any bytes as a tar: read from front to back, and indexed. Both must find the same samples.
// If the last byte is odd, the checksums of what looks like headers are made right first: else
// nearly every change of a header would end there.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "formats/tar/tar.h"
#include "storage/stream.h"

namespace penstock::formats {
namespace {

void must(bool condition) {
  if (!condition) std::abort();
}

// The keys of samples, and "" for each that could not be read.
std::vector<std::string> streamed(std::span<const std::byte> bytes) {
  BufferPool pool(std::size_t(256) << 20);
  OpenOptions options;
  options.max_member = 1 << 20;
  const auto stream = tar::stream_memory(bytes, pool, options);
  std::vector<std::string> keys;
  std::vector<Record> held;  // so that blocks are shared, and must not be written over
  [[maybe_unused]] unsigned sum = 0;
  for (;;) {
    Record record;
    const Result<bool> more = stream->next(record);
    if (more.ok() && !*more) break;
    if (!more.ok()) {
      must(record.fields.empty());
      keys.emplace_back();
      continue;
    }
    for (const Field& field : record.fields) {
      for (const std::byte byte : field.bytes) sum += unsigned(byte);
    }
    must(!record.fields.empty() && record.fields[0].text() == record.key);
    keys.emplace_back("=" + std::string(record.key));
    if (held.size() < 8) held.push_back(std::move(record));
  }
  for (std::size_t i = 0, k = 0; i < held.size(); ++i, ++k) {
    while (keys[k].empty()) ++k;
    must(keys[k] == "=" + std::string(held[i].key));
  }
  return keys;
}

void mend_checksums(std::vector<std::byte>& bytes) {
  for (std::size_t at = 0; at + 512 <= bytes.size(); at += 512) {
    if (std::memcmp(bytes.data() + at + 257, "ustar", 5) != 0) continue;
    std::memset(bytes.data() + at + 148, ' ', 8);
    unsigned sum = 0;
    for (std::size_t i = 0; i < 512; ++i) sum += unsigned(bytes[at + i]);
    char text[8];
    std::snprintf(text, sizeof(text), "%06o", sum);
    std::memcpy(bytes.data() + at + 148, text, 7);
  }
}

std::vector<std::string> indexed(std::span<const std::byte> bytes, bool hashes, bool& failed) {
  const auto stream = storage::stream_over(bytes, "fuzz");
  const Result<Index> index = tar::make_index(*stream, {bytes.size(), 0}, hashes);
  failed = !index.ok();
  std::vector<std::string> keys;
  if (failed) return keys;
  for (std::uint64_t i = 0; i < index->records(); ++i) {
    Index::Entry entry;
    must(index->entry(i, entry));
    const Index::Bad* bad = index->bad(i);
    if (bad != nullptr) must(bad->trouble >= 1 && bad->trouble <= 3);
    bool readable = bad == nullptr;
    for (std::uint64_t p = entry.first; p < entry.first + entry.count; ++p) {
      Index::Part part;
      must(index->part(i, p, part));
      readable = readable && part.size <= (1 << 20);
    }
    keys.emplace_back(readable ? "=" + std::string(entry.key) : "");
  }
  if (index->findings().duplicates > 0) failed = true;  // the stream sees only neighbours
  return keys;
}

}  // namespace
}  // namespace penstock::formats

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock::formats;
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  if (size > 0 && (data[size - 1] & 1) != 0) mend_checksums(bytes);
  if (size == 0 || penstock::storage::packing_of(bytes) != penstock::storage::Packing::none)
    return 0;
  bool failed = false, failed_again = false;
  const std::vector<std::string> from_stream = streamed(bytes);
  const std::vector<std::string> from_index = indexed(bytes, false, failed);
  const std::vector<std::string> from_bytes = indexed(bytes, true, failed_again);
  must(failed == failed_again && from_index == from_bytes);
  if (!failed) must(from_stream == from_index);
  return 0;
}
