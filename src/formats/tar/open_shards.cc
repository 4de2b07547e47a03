#include "formats/indexed_records.h"
#include "formats/parallel.h"
#include "formats/sidecar.h"
#include "formats/tar/tar.h"
#include "storage/file.h"

namespace penstock::formats::tar {

Result<std::shared_ptr<const Records>> open_shards(const std::vector<std::string>& paths,
                                                   const OpenOptions& options) {
  const SidecarOptions sidecar{options.checksums, options.refresh, options.write_index};
  std::vector<IndexedRecords::Shard> shards(paths.size());
  std::vector<Status> outcomes(paths.size());
  for_each_in_parallel(paths.size(), options.threads, [&](std::size_t i) {
    const std::string& path = paths[i];
    const Result<storage::Stamp> stamp = storage::stamp_of(path);
    if (!stamp) {
      outcomes[i] = stamp.error();
      return;
    }
    Result<Index> index = open_index(path, *stamp, sidecar,
                                     [&] { return make_index(path, *stamp, options.checksums); });
    if (!index) {
      outcomes[i] = std::move(index).error();
      return;
    }
    shards[i] = {path, *stamp, *std::move(index)};
  });
  for (const Status& outcome : outcomes) {
    if (!outcome.ok()) return outcome.error();
  }
  const auto explain = [](std::uint64_t trouble, std::uint64_t offset, std::string_view key,
                          const std::string& file) {
    return error_of(Trouble(trouble), offset, key, file);
  };
  return IndexedRecords::over(std::move(shards), options.fields, options.max_member, explain);
}

}  // namespace penstock::formats::tar
