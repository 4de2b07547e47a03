// Any bytes as a sidecar, and the same with the outside made right, so that the inside is reached.
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "formats/index.h"
#include "formats/index_layout.h"

namespace penstock::formats {
namespace {

void read_everything(std::span<const std::byte> bytes) {
  const Result<Index> index = Index::open(bytes, nullptr);
  if (!index.ok()) return;
  unsigned sum = 0;
  for (const std::string_view field : index->fields()) {
    for (const char letter : field) sum += unsigned(letter);
  }
  for (std::uint64_t i = 0; i < index->records(); ++i) {
    Index::Entry entry;
    if (const Index::Bad* bad = index->bad(i); bad != nullptr) sum += unsigned(bad->offset);
    if (!index->entry(i, entry)) continue;
    for (const char letter : entry.key) sum += unsigned(letter);
    for (std::uint64_t p = entry.first; p < entry.first + entry.count; ++p) {
      Index::Part part;
      if (!index->part(i, p, part)) continue;
      if (part.offset + part.size > index->stamp().size) __builtin_trap();
      sum += unsigned(index->fields()[part.field].size());
      if (index->has_hashes()) sum += unsigned(index->hash(p));
    }
  }
  [[maybe_unused]] static volatile unsigned sink;
  sink = sum;
}

}  // namespace
}  // namespace penstock::formats

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock::formats;
  std::vector<std::uint64_t> words((size + 7) / 8);  // aligned, as a map is
  if (size > 0) std::memcpy(words.data(), data, size);
  const std::span<const std::byte> whole = std::as_bytes(std::span(words));
  read_everything(whole.first(size));
  if (whole.size() < sizeof(layout::Head)) return 0;
  layout::Head head;
  std::memcpy(&head, words.data(), sizeof(head));
  std::memcpy(head.magic, layout::kMagic, sizeof(head.magic));
  head.version = layout::kVersion;
  head.sidecar_bytes = whole.size();
  std::memcpy(words.data(), &head, sizeof(head));
  head.checksum = ::XXH3_64bits_withSeed(whole.data() + layout::kCheckedFrom,
                                         whole.size() - layout::kCheckedFrom, head.flags);
  std::memcpy(words.data(), &head, sizeof(head));
  read_everything(whole);
  return 0;
}
