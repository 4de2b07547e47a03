// TFRecord files as records: see docs/formats.md for what is read and how. A record has one field,
// "data": its bytes, whatever they are. example.h makes fields of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "formats/index.h"
#include "formats/open.h"
#include "formats/records.h"
#include "storage/stream.h"

namespace penstock::formats::tfrecord {

// Numbers in the index; in the upper bits of `damaged`: how many bytes are lost.
enum class Trouble : std::uint8_t { damaged = 1, cut = 2, checksum = 3 };
inline constexpr int kTroubleBits = 8;

// Reads the headers of a file, all of its bytes if `hashes`, and makes its index.
Result<Index> make_index(storage::Stream& stream, storage::Stamp stamp, bool hashes);

// `paths` are files, without patterns.
Result<std::shared_ptr<const Records>> open_shards(const std::vector<std::string>& paths,
                                                   const OpenOptions& options);

// The same without an index, from front to back; also compressed (gzip, zlib). `pool` outlives the
// stream.
std::unique_ptr<RecordStream> stream_shards(std::vector<std::string> paths, BufferPool& pool,
                                            const OpenOptions& options);

// Is one of these compressed? `names` may hold patterns.
Result<bool> is_packed(const std::vector<std::string>& names);

// A file in memory that outlives the stream.
std::unique_ptr<RecordStream> stream_memory(std::span<const std::byte> bytes, BufferPool& pool,
                                            const OpenOptions& options);

// What became of a record that cannot be read. `lost` bytes, if damaged.
Error error_of(Trouble trouble, std::uint64_t offset, std::uint64_t lost, std::string_view record,
               const std::string& file);

}  // namespace penstock::formats::tfrecord
