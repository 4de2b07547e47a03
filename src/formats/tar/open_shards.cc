#include "formats/open_shards.h"

#include <algorithm>
#include <array>

#include "formats/tar/header.h"
#include "formats/tar/names.h"
#include "formats/tar/tar.h"

namespace penstock::formats::tar {
namespace {

Status check_start(std::span<const std::byte> start) {
  if (start.empty()) return Error(Code::corrupt, "the file is empty: this is not a tar");
  if (storage::packing_of(start) == storage::Packing::none) return {};
  return Error(
      Code::unsupported,
      "a compressed tar can only be read from front to back; for len, an index and a global "
      "shuffle unpack it to .tar");
}

// Is the name of a member in its header? Long ones and those beyond ASCII are in records before it.
bool is_in_header(std::string_view key, std::string_view field, std::string_view before) {
  constexpr std::size_t kLongest = 100;
  const auto plain = [](char c) { return c > 0; };
  return key.size() + 1 + field.size() < kLongest && std::all_of(key.begin(), key.end(), plain) &&
         before.find("path=") == before.npos;
}

// Looks at the header of the last member that the index tells of: where files differ before it, it
// lies elsewhere.
Result<bool> fits(const storage::Source& file, const Index& index) {
  constexpr std::uint64_t kHeaderHolds = std::uint64_t(1) << 33;  // of sizes
  for (std::uint64_t i = index.records(); i-- > 0;) {
    Index::Entry entry;
    Index::Part part;
    if (index.bad(i) != nullptr || !index.entry(i, entry) || entry.count == 0) continue;
    if (!index.part(i, entry.first + entry.count - 1, part)) return false;
    if (part.offset < kBlock || part.field >= index.fields().size()) return false;
    std::array<std::byte, 2 * kBlock> bytes{};
    const auto known =
        std::span(bytes).last(std::size_t(std::min<std::uint64_t>(part.offset, bytes.size())));
    if (Status status = file.read(part.offset - known.size(), known); !status)
      return status.error();
    const Block block = std::span(bytes).last<kBlock>();
    Header header;
    if (!parse_header(block, false, header) || header.type != Type::file) return false;
    if (part.size < kHeaderHolds && header.size != part.size) return false;
    const std::string_view before(reinterpret_cast<const char*>(bytes.data()), kBlock);
    if (!is_in_header(entry.key, index.fields()[part.field], before)) return true;
    std::string name;
    name_of(block, name);
    const std::optional<SplitName> split = split_name(name);
    return split && split->key == entry.key;
  }
  return true;
}

}  // namespace

Result<std::shared_ptr<const Records>> open_shards(const std::vector<std::string>& paths,
                                                   const OpenOptions& options) {
  IndexedRecords::Traits traits;
  traits.explain = [](std::uint64_t trouble, std::uint64_t offset, std::string_view key,
                      const std::string& file) {
    return error_of(Trouble(trouble), offset, key, file);
  };
  // Files that are indexed at the same time share them.
  constexpr std::size_t kWalks = 32;
  const std::size_t walks = kWalks / std::clamp<std::size_t>(paths.size(), 1, kWalks);
  const auto make = [walks](storage::Stream& stream, storage::Stamp stamp, bool hashes) {
    return make_index(stream, stamp, hashes, walks);
  };
  return formats::open_shards(paths, options, check_start, make, traits, fits);
}

}  // namespace penstock::formats::tar
