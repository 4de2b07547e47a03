#include "storage/stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "storage/file.h"

namespace penstock::storage {
namespace {

class FileStream final : public Stream {
 public:
  FileStream(std::string path, Descriptor descriptor, std::optional<std::uint64_t> size)
      : path_(std::move(path)), descriptor_(std::move(descriptor)), size_(size) {}

  const std::string& name() const noexcept override { return path_; }
  std::optional<std::uint64_t> size() const noexcept override { return size_; }

  Result<std::size_t> read(std::span<std::byte> into) override {
    for (;;) {
      const std::size_t wanted = std::min<std::size_t>(into.size(), std::size_t(1) << 30);
      const ssize_t count = size_
                                ? ::pread(descriptor_.get(), into.data(), wanted, off_t(position_))
                                : ::read(descriptor_.get(), into.data(), wanted);
      if (count >= 0) {
        position_ += std::uint64_t(count);
        return std::size_t(count);
      }
      if (errno != EINTR) {
        return system_error(errno, "read", path_).at_offset(std::int64_t(position_));
      }
    }
  }

  Status skip(std::uint64_t count) override {
    if (!size_) return Stream::skip(count);
    position_ += std::min(count, *size_ - std::min(*size_, position_));
    return {};
  }

 private:
  std::string path_;
  Descriptor descriptor_;
  std::optional<std::uint64_t> size_;  // of a regular file: what can be read anywhere
  std::uint64_t position_ = 0;
};

class MemoryStream final : public Stream {
 public:
  MemoryStream(std::span<const std::byte> bytes, std::string name)
      : left_(bytes), size_(bytes.size()), name_(std::move(name)) {}

  const std::string& name() const noexcept override { return name_; }
  std::optional<std::uint64_t> size() const noexcept override { return size_; }

  Result<std::size_t> read(std::span<std::byte> into) override {
    const std::size_t count = std::min(into.size(), left_.size());
    if (count > 0) std::memcpy(into.data(), left_.data(), count);
    left_ = left_.subspan(count);
    return count;
  }

  Status skip(std::uint64_t count) override {
    left_ = left_.subspan(std::size_t(std::min<std::uint64_t>(count, left_.size())));
    return {};
  }

 private:
  std::span<const std::byte> left_;
  std::uint64_t size_;
  std::string name_;
};

}  // namespace

Status Stream::skip(std::uint64_t count) {
  std::array<std::byte, 16 << 10> dropped;
  while (count > 0) {
    const std::size_t wanted = std::size_t(std::min<std::uint64_t>(count, dropped.size()));
    const Result<std::size_t> got = read(std::span(dropped).first(wanted));
    if (!got) return got.error();
    if (*got == 0) break;
    count -= *got;
  }
  return {};
}

Result<std::unique_ptr<Stream>> open_stream(const std::string& path) {
  if (is_url(path)) return StreamQueue({path}).open_next();
  Descriptor descriptor = open_descriptor(path, O_RDONLY);
  if (!descriptor) return system_error(errno, "open", path);
  struct stat info;
  if (::fstat(descriptor.get(), &info) != 0) return system_error(errno, "open", path);
  if (S_ISDIR(info.st_mode)) {
    return Error(Code::invalid_argument, "this is a folder, not a file").in_file(path);
  }
  std::optional<std::uint64_t> size;
  if (S_ISREG(info.st_mode)) {
    size = std::uint64_t(info.st_size);
    (void)::posix_fadvise(descriptor.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  return std::unique_ptr<Stream>(std::make_unique<FileStream>(path, std::move(descriptor), size));
}

std::unique_ptr<Stream> stream_over(std::span<const std::byte> bytes, std::string name) {
  return std::make_unique<MemoryStream>(bytes, std::move(name));
}

Packing packing_of(std::span<const std::byte> start) noexcept {
  const auto begins = [start](std::initializer_list<unsigned char> magic) {
    return start.size() >= magic.size() &&
           std::memcmp(start.data(), magic.begin(), magic.size()) == 0;
  };
  if (begins({0x1f, 0x8b})) return Packing::gzip;
  if (begins({0x28, 0xb5, 0x2f, 0xfd})) return Packing::zstd;
  return Packing::none;
}

}  // namespace penstock::storage
