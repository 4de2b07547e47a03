// Opening: from what a user writes (a name, a pattern, a list) to Records or a RecordStream.
//
// What a name means: a folder is an image folder; a file that ends in .tar is a tar, in .tar.gz,
// .tgz, .tar.zst a compressed one; .tfrecord and .tfrecords, perhaps with .gz or a shard's number
// behind it (x.tfrecord-00003-of-00010), is a TFRecord file; a file that ends like an image is one
// record of its own. .npy, .npz, .zarr, .zarr.zip (and a folder with Zarr's metadata in it), .h5
// and .hdf5 are arrays, whose rows are samples: open_records does not take them (npy/load.h and
// chunked/ do). .parquet, .feather, .arrow are tables, which Python reads for us (table/).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/records.h"
#include "penstock/buffer.h"
#include "penstock/error.h"

namespace penstock::formats {

enum class Format : std::uint8_t {
  detect,
  tar,
  folder,
  files,
  tfrecord,
  npy,
  npz,
  zarr,
  hdf5,
  parquet,
  arrow
};

// As users write it: "tar"; "" is detect.
Result<Format> format_named(std::string_view name);
std::string_view name_of(Format format) noexcept;

struct OpenOptions {
  Format format = Format::detect;
  std::vector<std::string> fields;  // read these only; empty: all
  bool checksums = false;           // the index holds a hash per member; every read is verified
  bool refresh = false;             // make the index anew, whatever is there
  bool write_index = true;          // false: a new index stays in memory
  bool mmap = false;                // records are views of mapped files (storage/map.h)
  bool verify = true;               // checksums that the format itself has are checked
  std::uint64_t max_member = std::uint64_t(1) << 30;  // larger members are refused when read
  int threads = 0;                                    // for making indexes; 0: one per core
  // Of streams: memory that large members are read into, instead of the stream's own, so that
  // somebody else's need not be copied to. Called from the thread that calls next().
  std::function<Result<Buffer>(std::size_t)> large_members;
};

// The error of a `what` ("field jpg") of so many bytes, where max_member allows fewer.
Error too_large(const std::string& what, std::uint64_t size, std::uint64_t max_member);

// The one format that all of these have, found from their names.
Result<Format> detect_format(const std::vector<std::string>& names);

// `names` may hold patterns (storage/expand.h). Fails if nothing matches, if a file is missing or
// unreadable, if an index does not belong to its file, or if a tar is compressed (`unsupported`:
// use open_stream).
Result<std::shared_ptr<const Records>> open_records(const std::vector<std::string>& names,
                                                    const OpenOptions& options = {});

// Tars and TFRecord files, compressed or not, one after the other. `pool` must outlive the stream.
Result<std::unique_ptr<RecordStream>> open_stream(const std::vector<std::string>& names,
                                                  BufferPool& pool,
                                                  const OpenOptions& options = {});

}  // namespace penstock::formats
