// Tar shards as records, WebDataset's way: see docs/formats.md for what is read and how.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "formats/index.h"
#include "formats/open.h"
#include "formats/records.h"
#include "formats/tar/samples.h"
#include "storage/stream.h"

namespace penstock::formats::tar {

// Reads the headers of a tar, all of its bytes if `hashes`, and makes its index. `walks`: see
// header_walks.h.
Result<Index> make_index(storage::Stream& stream, storage::Stamp stamp, bool hashes,
                         std::size_t walks = 0);

// `paths` are files, without patterns.
Result<std::shared_ptr<const Records>> open_shards(const std::vector<std::string>& paths,
                                                   const OpenOptions& options);

// The same without an index, from front to back; also compressed. `pool` outlives the stream.
std::unique_ptr<RecordStream> stream_shards(std::vector<std::string> paths, BufferPool& pool,
                                            const OpenOptions& options);

// A tar in memory that outlives the stream.
std::unique_ptr<RecordStream> stream_memory(std::span<const std::byte> bytes, BufferPool& pool,
                                            const OpenOptions& options);

// What became of a sample that cannot be read.
Error error_of(Trouble trouble, std::uint64_t offset, std::string_view key,
               const std::string& file);

}  // namespace penstock::formats::tar
