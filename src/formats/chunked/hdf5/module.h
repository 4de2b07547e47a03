// What libhdf5 tells of a file. The code that calls it is a shared module of its own, loaded when
// the first HDF5 file is opened: without libhdf5 all the rest works.
//
// The module and this library are built together; the module needs nothing of the library but
// headers.
//
// Thread safety: any thread; libhdf5 serves one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/chunked/element.h"
#include "penstock/error.h"
#include "storage/source.h"

namespace penstock::formats::hdf5 {

struct Filter {
  int id = 0;
  std::string name;        // as the file has it; may be empty
  bool available = false;  // to libhdf5
  std::vector<unsigned> values;
};

// Where a chunk is. `number` in C order over the grid; `skipped`: filters not used, by bit.
struct ChunkPlace {
  std::uint64_t number = 0, offset = 0, size = 0;
  std::uint32_t skipped = 0;
};

struct Dataset {
  enum class Layout : std::uint8_t { contiguous, chunked, other };
  static constexpr std::uint64_t kNowhere = ~std::uint64_t(0);

  std::string descr;  // of an element, as NumPy writes it
  std::size_t element_bytes = 0;
  std::vector<chunked::Text> texts;
  std::vector<std::uint64_t> shape, chunk;  // no chunk: it is not chunked
  std::vector<std::uint64_t> most;          // what shape may become; all ones: without end
  std::vector<std::uint64_t> inner;         // dimensions that are part of an element
  std::vector<std::byte> fill;              // an element, as it is in the file
  std::vector<Filter> filters;              // in the order in which they were used
  Layout layout = Layout::other;
  std::uint64_t offset = kNowhere;  // of contiguous bytes, in the file
  std::uint64_t header = kNowhere;  // address of the object header; kNowhere: not to be used
  std::uint64_t base = 0;           // what addresses are relative to
  std::string only_hdf5;            // why only libhdf5 can read it; empty: that is not so
  bool elsewhere = false;           // are its elements in other files?
  // Of varying length: an element is a reference (global_heap.h), `descr` that of a list's numbers.
  bool text = false, list = false;
  std::string unreadable;  // why elements of this type are not read; else there is a descr
};

// What the module asks the library for. Given a reference that leads nowhere, libhdf5 up to 1.12
// ends the process: so it never gets to see one that was not followed here before.
class Stored {
 public:
  using Bytes = std::vector<std::byte>;
  struct Object {
    std::uint64_t header = 0;  // address of its header
    std::uint64_t base = 0;    // what addresses are relative to
  };
  virtual ~Stored() = default;
  // The fill value of a dataset of texts or lists, as it is stored: a reference that can be
  // followed, to items of so many bytes. Empty: there is none.
  virtual Result<Bytes> fill(const Object& dataset, std::uint64_t item_bytes) const = 0;
  // The first `count` texts or lists of an attribute, in the file's byte order.
  virtual Result<std::vector<Bytes>> attribute(const Object& owner, const std::string& name,
                                               std::uint64_t count,
                                               std::uint64_t item_bytes) const = 0;
};

class File {
 public:
  virtual ~File() = default;
  virtual Result<std::vector<std::string>> datasets() const = 0;  // paths, sorted: "train/image"
  // Is this one's name, be it listed or led to by a link?
  virtual bool has(const std::string& path) const = 0;
  virtual Result<Dataset> describe(const std::string& path, const Stored& stored) const = 0;
  // In the file's byte order.
  virtual Status read_rows(const std::string& path, std::uint64_t first, std::uint64_t count,
                           std::span<std::byte> into) const = 0;
  // JSON; "": the root.
  virtual Result<std::string> attributes(const std::string& path, const Stored& stored) const = 0;
};

// `remote`: what libhdf5 reads in place of the file of this name; null: it opens the file itself.
using OpenFile = Result<std::shared_ptr<const File>>(const std::string& name,
                                                     std::shared_ptr<const storage::Source> remote);

// The module's one function has this name, takes nothing and gives an OpenFile* as a void*.
inline constexpr const char* kModuleFunction = "penstock_hdf5_open";

// Loads the module if it is not loaded yet. Fails with unsupported, and says what to install.
Result<OpenFile*> load_module();

}  // namespace penstock::formats::hdf5
