#include "storage/file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

namespace penstock::storage {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t(1) << 30;  // Linux reads at most 2 GB at a time

constexpr const char* kShorter =
    "the file has become shorter since it was opened: write a new file and rename it, instead of "
    "changing one that is being read";

Stamp stamp_from(const struct stat& info) noexcept {
  return {std::uint64_t(info.st_size),
          std::int64_t(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec};
}

Status must_be_regular(const struct stat& info, const std::string& path) {
  if (S_ISREG(info.st_mode)) return {};
  return Error(Code::invalid_argument,
               S_ISDIR(info.st_mode) ? "this is a folder, not a file" : "not a regular file")
      .in_file(path);
}

// Reads until `into` is full or the file ends; how many bytes there were.
Result<std::size_t> read_fully(int descriptor, std::uint64_t offset, std::span<std::byte> into,
                               const std::string& path) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t count = ::pread(descriptor, into.data() + done,
                                  std::min(into.size() - done, kMostAtOnce), off_t(offset + done));
    if (count > 0) {
      done += std::size_t(count);
    } else if (count == 0) {
      break;
    } else if (errno != EINTR) {
      return system_error(errno, "read", path).at_offset(std::int64_t(offset + done));
    }
  }
  return done;
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Descriptor open_descriptor(const std::string& path, int flags, int mode) noexcept {
  if (path.find('\0') != path.npos) {  // the system would look at what is before it
    errno = EINVAL;
    return Descriptor();
  }
  int number;
  do {
    number = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (number < 0 && errno == EINTR);
  return Descriptor(number);
}

Error system_error(int number, std::string_view doing, const std::string& path) {
  const bool absent = number == ENOENT || number == ENOTDIR;
  std::string text = "cannot " + std::string(doing) + ": ";
  text += std::generic_category().message(number);
  if (number == EMFILE) text += "; raise the limit with ulimit -n";
  return Error(absent ? Code::not_found : Code::io, std::move(text)).in_file(path);
}

Result<std::shared_ptr<const File>> File::open(const std::string& path) {
  Descriptor descriptor = open_descriptor(path, O_RDONLY | O_NONBLOCK);
  if (!descriptor) return system_error(errno, "open", path);
  const Result<Stamp> stamp = file_stamp(descriptor, path);
  if (!stamp) return stamp.error();
  return std::make_shared<const File>(path, std::move(descriptor), *stamp);
}

Status File::read(std::uint64_t offset, std::span<std::byte> into) const {
  if (offset > std::uint64_t(std::numeric_limits<off_t>::max()) - into.size()) {
    return Error(Code::out_of_range, "no file is that long").in_file(path_);
  }
  const Result<std::size_t> count = read_fully(descriptor_.get(), offset, into, path_);
  if (!count) return count.error();
  if (*count == into.size()) return {};
  const bool shrunk = offset + into.size() <= stamp_.size;
  return Error(Code::io, shrunk ? kShorter : "the read goes beyond the end of the file")
      .in_file(path_)
      .at_offset(std::int64_t(offset + *count));
}

Status File::still_has(std::uint64_t size) const {
  struct stat info;
  if (::fstat(descriptor_.get(), &info) != 0) return system_error(errno, "look at", path_);
  if (std::uint64_t(info.st_size) >= size) return {};
  return became_shorter(path_, std::uint64_t(info.st_size));
}

void File::advise(Pattern pattern) const noexcept {
  // For random reads the system's own judgement is best: without any read-ahead, which is what
  // POSIX_FADV_RANDOM means, reads of several pages take longer.
  (void)::posix_fadvise(descriptor_.get(), 0, 0,
                        pattern == Pattern::random ? POSIX_FADV_NORMAL : POSIX_FADV_SEQUENTIAL);
}

bool File::read_ahead(Range range) const noexcept {
  // What one call asks for may be cut down to the read-ahead of the device, 128 KB by default.
  constexpr std::uint64_t kPiece = std::uint64_t(128) << 10;
  const std::uint64_t end = std::min(range.offset + range.size, stamp_.size);
  const long before = blocks_read();
  for (std::uint64_t at = range.offset; at < end; at += kPiece) {
    (void)::posix_fadvise(descriptor_.get(), off_t(at), off_t(std::min(kPiece, end - at)),
                          POSIX_FADV_WILLNEED);
  }
  return blocks_read() != before;
}

long blocks_read() noexcept {
  struct rusage usage = {};
  (void)::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_inblock;
}

Error became_shorter(const std::string& path, std::optional<std::uint64_t> now) {
  Error error = Error(Code::io, kShorter).in_file(path);
  return now ? std::move(error).at_offset(std::int64_t(*now)) : error;
}

Status still_whole(const std::string& path, std::uint64_t size, bool there) {
  const Result<Stamp> now = file_stamp(path);
  const bool shorter = now && now->size < size;
  if (there && !shorter) return {};
  return became_shorter(path, shorter ? std::optional(now->size) : std::nullopt);
}

Result<Stamp> file_stamp(const Descriptor& file, const std::string& path) {
  struct stat info;
  if (::fstat(file.get(), &info) != 0) return system_error(errno, "open", path);
  if (const Status regular = must_be_regular(info, path); !regular) return regular.error();
  return stamp_from(info);
}

Result<Stamp> file_stamp(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return system_error(errno, "open", path);
  if (const Status regular = must_be_regular(info, path); !regular) return regular.error();
  return stamp_from(info);
}

}  // namespace penstock::storage
