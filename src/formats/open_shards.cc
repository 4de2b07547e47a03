#include "formats/open_shards.h"

#include <algorithm>
#include <array>

#include "formats/parallel.h"
#include "formats/sidecar.h"
#include "storage/http.h"
#include "storage/source.h"

namespace penstock::formats {
namespace {

Status check(const std::string& path, storage::Stamp stamp, const CheckStart& check_start) {
  const auto file = storage::open_source(path);
  if (!file) return file.error();
  std::array<std::byte, 16> start;
  const std::span<std::byte> known =
      std::span(start).first(std::size_t(std::min<std::uint64_t>(start.size(), stamp.size)));
  if (Status status = (*file)->read(0, known); !status) return status;
  return check_start(known);
}

Result<Index> index_of(const std::string& path, storage::Stamp stamp, bool hashes,
                       const CheckStart& check_start, const MakeIndex& make) {
  const auto here = [&path](Error error) { return std::move(error).in_file(path); };
  if (const Status status = check(path, stamp, check_start); !status) return here(status.error());
  Result<std::unique_ptr<storage::Stream>> stream = storage::open_stream(path);
  if (!stream) return stream.error();
  Result<Index> index = make(**stream, stamp, hashes);
  if (!index) return here(index.error());
  const Result<storage::Stamp> now = storage::stamp_of(path);
  if (!now) return now.error();
  if (*now != stamp) {
    return Error(Code::io, "the file was changed while its index was made: try again")
        .in_file(path);
  }
  return index;
}

Status check_fit(const std::string& path, const Index& index, const Fits& fits) {
  const auto file = storage::open_source(path);
  if (!file) return file.error();
  const Result<bool> fit = fits(**file, index);
  if (!fit) return fit.error();
  if (*fit) return {};
  return Error(Code::corrupt,
               "the index belongs to another file, though size and time are the same; make it anew "
               "with: penstock index --refresh " +
                   path)
      .in_file(path);
}

}  // namespace

Result<std::shared_ptr<const Records>> open_shards(const std::vector<std::string>& paths,
                                                   const OpenOptions& options,
                                                   const CheckStart& check_start,
                                                   const MakeIndex& make,
                                                   const IndexedRecords::Traits& traits,
                                                   const Fits& fits) {
  const auto connections = storage::keep_connections(paths);
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
    bool made = false;
    Result<Index> index = open_index(path, *stamp, sidecar, [&] {
      made = true;
      return index_of(path, *stamp, options.checksums, check_start, make);
    });
    if (!index) {
      outcomes[i] = std::move(index).error();
      return;
    }
    if (fits && !made) outcomes[i] = check_fit(path, *index, fits);
    shards[i] = {path, *stamp, *std::move(index)};
  });
  for (const Status& outcome : outcomes) {
    if (!outcome.ok()) return outcome.error();
  }
  return IndexedRecords::over(std::move(shards), options, traits);
}

}  // namespace penstock::formats
