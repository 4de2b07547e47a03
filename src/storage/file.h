// File: a local file as a Source, read with pread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "storage/source.h"

namespace penstock::storage {

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();

  int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }

 private:
  int number_;
};

// open(2) that starts again after a signal.
Descriptor open_descriptor(const std::string& path, int flags, int mode = 0) noexcept;

// What the system said, with the path: not_found if there is no such file, else io. `doing` is what
// was tried: "open", "read".
Error system_error(int number, std::string_view doing, const std::string& path);

class File final : public Source {
 public:
  // Fails if it is not a regular file.
  static Result<std::shared_ptr<const File>> open(const std::string& path);

  const std::string& name() const noexcept override { return path_; }
  Stamp stamp() const noexcept override { return stamp_; }
  Status read(std::uint64_t offset, std::span<std::byte> into) const override;
  Status still_has(std::uint64_t size) const override;
  void advise(Pattern pattern) const noexcept override;
  bool read_ahead(Range range) const noexcept override;

  File(std::string path, Descriptor descriptor, Stamp stamp) noexcept
      : path_(std::move(path)), descriptor_(std::move(descriptor)), stamp_(stamp) {}

 private:
  std::string path_;
  Descriptor descriptor_;
  Stamp stamp_;
};

// What this thread has made disks read so far, in blocks of 512 bytes; not of all file systems.
long blocks_read() noexcept;

// The Error of a file that has become shorter than it was; `now` is its size, if that is known.
Error became_shorter(const std::string& path, std::optional<std::uint64_t> now = std::nullopt);

// Of a file that is mapped, after it was looked at: an Error if it has become shorter than `size`
// (behind the new end, inside the last page, there are zeros), or if not all of it was `there` (see
// fault_guard.h). One that was removed stays mapped. (OpenFiles asks its open files.)
Status still_whole(const std::string& path, std::uint64_t size, bool there = true);

// The stamp of a path, without opening it. Fails if it is not a regular file.
Result<Stamp> file_stamp(const std::string& path);
// The same of an open file; `path` is for messages.
Result<Stamp> file_stamp(const Descriptor& file, const std::string& path);

}  // namespace penstock::storage
