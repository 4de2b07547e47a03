// Codec: one step from the bytes of a file to those of a chunk. One small file each in codecs/.
//
// Thread safety: immutable; any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "penstock/error.h"

namespace penstock::formats::chunked {

class Codec {
 public:
  virtual ~Codec() = default;
  virtual std::string name() const = 0;  // for messages and explain()

  // Unpacks into `into` and says how many bytes that made. Fails with corrupt if the bytes are
  // damaged or make more than `into` holds. Reads and writes nothing outside the two.
  virtual Result<std::size_t> decode(std::span<const std::byte> packed,
                                     std::span<std::byte> into) const = 0;

  // How long so many bytes are once they are packed, where that does not depend on them.
  virtual std::optional<std::size_t> packed_size(std::size_t) const { return std::nullopt; }
};
using CodecPtr = std::shared_ptr<const Codec>;

// A container around deflate.
enum class Deflate { zlib, gzip };
CodecPtr deflate_codec(Deflate container);
CodecPtr zstd_codec();
CodecPtr blosc_codec();
CodecPtr lz4_codec();       // as numcodecs has it: the length in four bytes, then one block
CodecPtr hdf5_lz4_codec();  // as HDF5's filter 32004 has it: a header, then blocks
CodecPtr lzf_codec();       // LibLZF's format, as h5py writes it
CodecPtr shuffle_codec(std::size_t element_bytes);  // byte k of all elements together
CodecPtr crc32c_codec();                            // four bytes behind the others, little-endian
CodecPtr fletcher32_codec();                        // likewise, as HDF5 computes it

}  // namespace penstock::formats::chunked
