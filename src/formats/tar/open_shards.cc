#include "formats/open_shards.h"

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

}  // namespace

Result<std::shared_ptr<const Records>> open_shards(const std::vector<std::string>& paths,
                                                   const OpenOptions& options) {
  IndexedRecords::Traits traits;
  traits.explain = [](std::uint64_t trouble, std::uint64_t offset, std::string_view key,
                      const std::string& file) {
    return error_of(Trouble(trouble), offset, key, file);
  };
  return formats::open_shards(paths, options, check_start, make_index, traits);
}

}  // namespace penstock::formats::tar
