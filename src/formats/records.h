// Records: what every format answers. Which records are there, and the bytes of record i.
//
// A format is opened once (open.h), which finds or makes its index; from then on a Records object
// never changes, and every member may be called from any thread at any time. Formats that cannot be
// indexed (a compressed tar) are read from front to back by a RecordStream instead.
//
// Bad data: a record that is damaged keeps its index, and read() answers with an Error (corrupt,
// io, out_of_range) that names file, offset and key. Its neighbours are not touched. Error codes
// tell what a caller may do: `io` is worth a retry, the others stay as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/buffer.h"
#include "penstock/dtype.h"
#include "penstock/error.h"

namespace penstock::storage {
class ReadAhead;
}

namespace penstock::formats {

enum class FieldKind : std::uint8_t {
  bytes,    // raw: whatever the file holds
  text,     // UTF-8 by convention (a key, a path); not checked
  integer,  // `integer` is the value, `bytes` is empty
  nothing,  // a null: there is no value
};

// One field of a record as read. `name` lives as long as the Records or the RecordStream that it
// came from; `bytes` lie in Record::memory, or in memory of their own, and live as long as some
// handle to that.
struct Field {
  std::string_view name;
  FieldKind kind = FieldKind::bytes;
  std::span<const std::byte> bytes;
  std::int64_t integer = 0;
  Buffer memory = {};  // of its own; mostly none

  std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

// Meant to be reused from read to read: then nothing but `memory` is allocated. May be moved and
// copied freely: all views point into `memory`, which may be shared with neighbouring records.
struct Record {
  std::string_view key;  // of the sample inside its file (tar) or relative to the root (folder)
  std::vector<Field> fields;  // in the file's order; a tar's begins with "__key__"
  Buffer memory;

  // The field of that name, or null.
  const Field* find(std::string_view name) const noexcept;
  void clear() noexcept {
    key = {};
    fields.clear();
    memory = Buffer();
  }
};

// What an index pass came across and did not make a part of a sample. Not an error, but shown.
struct Findings {
  std::uint64_t not_files = 0;    // folders, links, devices
  std::uint64_t sparse = 0;       // sparse members, which are not read
  std::uint64_t unnamed = 0;      // files whose names make no sample: no dot, hidden, not an image
  std::uint64_t damaged = 0;      // places where headers were destroyed; each is also a bad record
  std::uint64_t duplicates = 0;   // records whose key was there before; each is also a bad record
  std::uint64_t cut = 0;          // files that end inside a member; the last record of each is bad
  std::uint64_t without_end = 0;  // tars without end mark: perhaps cut between two members
  std::uint64_t checksums = 0;    // records of a stream with a wrong checksum; each is a bad record

  Findings& operator+=(const Findings& other) noexcept;
};

// A field that may go straight into a batch: numbers of one type and shape in every record.
struct Placeable {
  std::size_t field = 0;  // of Records::fields()
  DType dtype = DType::uint8;
  std::vector<std::int64_t> shape;
};

// Where the values of such a field go: that of slot k to `to` + k times their size.
struct Placement {
  std::size_t field = 0;  // of Records::fields()
  std::byte* to = nullptr;
};

// Which of the records that were asked for could not be read.
struct Failure {
  std::size_t index = 0;  // among those that were asked for
  Error error;
};

// How records will be read next: chooses the read-ahead of the operating system.
enum class Access : std::uint8_t { sequential, random };

// Records that are fetched from afar before they are read: neighbours together, and many ranges
// under way at once. What is under way when it is destroyed is abandoned.
class Fetch {
 public:
  virtual ~Fetch() = default;
  virtual std::uint64_t bytes() const noexcept = 0;  // what start() takes from the pool
  // Begins and does not wait. `done` is called once all bytes are there or have failed, perhaps
  // from another thread, which it should not hold up.
  virtual void start(BufferPool& pool, std::function<void()> done) = 0;
  virtual bool ready() const noexcept = 0;  // was done() called?
  // When it is ready: record k of those that were asked for. From any thread.
  virtual Status take(std::size_t k, Record& into) const = 0;
};

class Records {
 public:
  virtual ~Records() = default;

  virtual std::uint64_t size() const noexcept = 0;

  // The names of all fields that occur, in order of first appearance: {"__key__", "jpg", "cls"} for
  // a tar, {"image", "label", "path"} for a folder. A record may lack some of them.
  virtual const std::vector<std::string>& fields() const noexcept = 0;

  // Reads record `index` into memory of `pool`; checked against its hashes where the index has
  // them. After an Error `into` is empty. An index beyond size() is out_of_range.
  virtual Status read(std::uint64_t index, BufferPool& pool, Record& into) const = 0;

  // Many at once: neighbours in a file are read together and share memory. into[k] and outcomes[k]
  // belong to indices[k]; all three have the same length. One failure costs no other record.
  virtual void read_many(std::span<const std::uint64_t> indices, BufferPool& pool,
                         std::span<Record> into, std::span<Status> outcomes) const;

  // The fields that read_placed() takes, as it puts them down.
  virtual std::vector<Placeable> placeable() const { return {}; }

  // As read_many, but these fields of record k go to their places, at slots[k], and not into the
  // record. `into` may be empty: then other fields are not read. Failures are added in any order;
  // a record may have several.
  virtual void read_placed(std::span<const std::uint64_t> indices,
                           std::span<const std::uint32_t> slots,
                           std::span<const Placement> placements, BufferPool& pool,
                           std::span<Record> into, std::vector<Failure>& failures) const;

  // For messages: the file and the key in it, "data/train-003.tar:000017".
  virtual std::string name(std::uint64_t index) const = 0;

  // What read(index) takes from the pool; 0 for a record that cannot be read. From the index, so
  // cheap: the sum over a batch is the bound for its encoded bytes.
  virtual std::uint64_t bytes(std::uint64_t index) const noexcept = 0;
  virtual std::uint64_t bytes_of(std::span<const std::uint64_t> indices) const noexcept;  // the sum
  virtual std::uint64_t largest() const noexcept = 0;     // no bytes(i) is more than this
  virtual std::uint64_t mean_bytes() const noexcept = 0;  // of the payload, at least 1; the same on
                                                          // every machine, whatever fields are read

  // Of the record counts and of the names relative to the root: no mtime, no absolute path. The
  // same data in another place, or on another machine, has the same digest.
  virtual std::uint64_t digest() const noexcept = 0;

  // How many records are best read together: the rows of a chunk. 0: it does not matter. Windowed
  // shuffles move blocks of this size.
  virtual std::uint64_t block() const noexcept { return 0; }

  // What is read next, as far as it is known: so many records ahead are worth knowing (0: none),
  // and these come after those that were told before. A hint: any record may be read at any time.
  virtual std::uint64_t ahead() const noexcept { return 0; }
  virtual void expect(std::span<const std::uint64_t>) const {}

  // Are they in local files, so that the disk can be told ahead what will be read of them? Where
  // that is, as far as it can be said without much ado.
  virtual bool on_disk() const noexcept { return false; }
  virtual void tell_places(std::span<const std::uint64_t>, storage::ReadAhead&) const {}

  // Does reading wait for nothing but a core, and perhaps for pages of a map?
  virtual bool in_memory() const noexcept { return false; }

  // Are records better fetched before they are read? The plan for that, or none. The Records must
  // outlive it.
  virtual bool from_afar() const noexcept { return false; }
  virtual std::unique_ptr<Fetch> fetch(std::span<const std::uint64_t> indices) const;

  virtual Findings findings() const noexcept = 0;
  virtual void advise(Access access) const noexcept;  // a hint; nothing by default
};

// Records from front to back, without an index. For one thread at a time.
class RecordStream {
 public:
  virtual ~RecordStream() = default;

  // False at the end. An Error costs the record it names: call again for the next one. Where a file
  // cannot be read on at all (io, or damaged compressed data) the next call goes on with the next
  // file.
  virtual Result<bool> next(Record& into) = 0;

  virtual Findings findings() const noexcept = 0;  // so far
};

}  // namespace penstock::formats
