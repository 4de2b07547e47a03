// Opening files that have an index each: what all such formats share. Indexes are read or made for
// several files at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "formats/indexed_records.h"
#include "formats/open.h"
#include "storage/stream.h"

namespace penstock::formats {

// Makes the index of one file; `hashes`: with a hash of each part.
using MakeIndex =
    std::function<Result<Index>(storage::Stream& stream, storage::Stamp stamp, bool hashes)>;
// What must be true of a file's first bytes (up to 16) before it is indexed.
using CheckStart = std::function<Status(std::span<const std::byte> start)>;
// Does the index of a sidecar fit the file? A file that is another may have the size and the time.
using Fits = std::function<Result<bool>(const storage::Source& file, const Index& index)>;

// `fits` may be empty.
Result<std::shared_ptr<const Records>> open_shards(const std::vector<std::string>& paths,
                                                   const OpenOptions& options,
                                                   const CheckStart& check_start,
                                                   const MakeIndex& make,
                                                   const IndexedRecords::Traits& traits,
                                                   const Fits& fits = {});

}  // namespace penstock::formats
