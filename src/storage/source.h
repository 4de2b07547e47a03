// Source: bytes that can be read at any offset. A local file, memory, a URL; S3 will come behind
// the same face.
//
// What is opened has a fixed size and a stamp that says which version of it this is. A read gives
// exactly the bytes asked for or an Error; there are no short reads. A source that turns out to be
// shorter than it was when it was opened is an Error (io) that says so.
//
// Thread safety: every member may be called from any thread at any time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "penstock/error.h"

namespace penstock::storage {

// Which version of the bytes this is: a copy with another time is another version.
struct Stamp {
  std::uint64_t size = 0;
  std::int64_t mtime = 0;  // nanoseconds since 1970; of a URL: a number made of its ETag or date

  bool operator==(const Stamp&) const = default;
};

struct Range {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  std::uint64_t end() const noexcept { return offset + size; }
};

struct Read {
  std::uint64_t offset = 0;
  std::span<std::byte> into;
};

// Called once, with what became of a read.
using ReadDone = std::function<void(Status)>;

// True as soon as nobody waits for a read any more.
using Abandoned = std::shared_ptr<const std::atomic<bool>>;

// How bytes will be asked for next.
enum class Pattern : std::uint8_t { sequential, random };

class Source {
 public:
  virtual ~Source() = default;

  virtual const std::string& name() const noexcept = 0;  // as it was opened: a path or a URL
  virtual Stamp stamp() const noexcept = 0;              // as of opening
  std::uint64_t size() const noexcept { return stamp().size; }

  // Fills `into` with the bytes from `offset` on.
  virtual Status read(std::uint64_t offset, std::span<std::byte> into) const = 0;

  // An Error if it is known to have become shorter than `size`; asks again each time.
  virtual Status still_has(std::uint64_t size) const;

  // Many reads; outcomes[k] belongs to reads[k]. One failure costs no other read. A source with
  // latency keeps several under way; this one goes through them in turn.
  virtual void read_batch(std::span<const Read> reads, std::span<Status> outcomes) const;

  // As read(), but a source with latency does not wait: `done` is called later, from a thread that
  // it should not hold up. The memory stays until then; the source need not. A read that is
  // abandoned ends soon, in an Error (closed).
  virtual void start(const Read& read, ReadDone done, const Abandoned& abandoned) const;

  virtual void advise(Pattern pattern) const noexcept;  // a hint, which may be ignored

  // These bytes will be read soon; does not wait for them. True if they had to be fetched from a
  // disk, as far as that is known. (ReadAhead knows when to say this.)
  virtual bool read_ahead(Range range) const noexcept;
};

// Opens what `name` names: a path, or a URL of http or https.
Result<std::shared_ptr<const Source>> open_source(const std::string& name);

// The same for what was seen before, in the version that it had then. Another one is an Error; of a
// URL, which is not asked for this, it is the first read that says so.
Result<std::shared_ptr<const Source>> open_known_source(const std::string& name, Stamp stamp);

// Memory that outlives the source.
std::shared_ptr<const Source> source_over(std::span<const std::byte> bytes, std::string name);

// The stamp of what `name` names. Fails if that is not a regular file.
Result<Stamp> stamp_of(const std::string& name);

// True for "http://..." and the like.
bool is_url(std::string_view name) noexcept;

}  // namespace penstock::storage
