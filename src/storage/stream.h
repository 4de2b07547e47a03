// Stream: bytes from front to back. Files and pipes, memory, and what gzip or zstd packed.
//
// Thread safety: for one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "penstock/error.h"

namespace penstock::storage {

class Stream {
 public:
  virtual ~Stream() = default;

  virtual const std::string& name() const noexcept = 0;

  // Puts at least one byte into `into`, which is not empty; 0 means the end. Corrupt or io: what
  // comes after cannot be read any more.
  virtual Result<std::size_t> read(std::span<std::byte> into) = 0;

  // Leaves out `count` bytes, fewer if it ends before. Cheap where the bytes need not be read.
  virtual Status skip(std::uint64_t count);

  // The number of bytes in all, where it is known.
  virtual std::optional<std::uint64_t> size() const noexcept { return std::nullopt; }
};

// A file, a pipe or a URL.
Result<std::unique_ptr<Stream>> open_stream(const std::string& name);

// Opens streams one after the other. URLs are begun some time before it is their turn, so that
// nobody waits for a server's first answer.
class StreamQueue {
 public:
  explicit StreamQueue(std::vector<std::string> names);
  ~StreamQueue();
  StreamQueue(const StreamQueue&) = delete;
  StreamQueue& operator=(const StreamQueue&) = delete;

  bool empty() const noexcept { return next_ == names_.size(); }
  // The name that is next.
  const std::string& name() const noexcept { return names_[next_]; }
  Result<std::unique_ptr<Stream>> open_next();

 private:
  struct Begun;
  std::vector<std::string> names_;
  std::size_t next_ = 0, begun_until_ = 0;
  std::shared_ptr<std::deque<Begun>> begun_;  // held by the stream that is read, too
};

// The bytes of `start`, then those of `rest`: for who has looked at the first bytes.
std::unique_ptr<Stream> put_back(std::span<const std::byte> start, std::unique_ptr<Stream> rest);

// Memory that outlives the stream.
std::unique_ptr<Stream> stream_over(std::span<const std::byte> bytes, std::string name);

// Unpacks what `packed` gives: gzip and zlib (one member or several) and zstd (one frame or
// several).
std::unique_ptr<Stream> gunzip(std::unique_ptr<Stream> packed);
std::unique_ptr<Stream> unzlib(std::unique_ptr<Stream> packed);
std::unique_ptr<Stream> unzstd(std::unique_ptr<Stream> packed);

enum class Packing : std::uint8_t { none, gzip, zstd };

// What the first bytes of a file say: four are enough.
Packing packing_of(std::span<const std::byte> start) noexcept;

}  // namespace penstock::storage
