#include "storage/write.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "storage/file.h"

namespace penstock::storage {
namespace {

// False: errno says why.
bool write_all(const Descriptor& file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::write(file.get(), bytes.data(), std::min<std::size_t>(bytes.size(), 1 << 30));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(std::size_t(count));
  }
  return true;
}

// Into what is there.
Status write_in_place(const std::string& path, std::span<const std::byte> bytes) {
  const Descriptor file = open_descriptor(path, O_WRONLY | O_TRUNC);
  return file && write_all(file, bytes) ? Status() : system_error(errno, "write", path);
}

// A name beside this one that nobody else uses, and that is not too long.
std::string name_beside(const std::string& path) {
  static std::atomic<unsigned> count = 0;
  constexpr std::size_t kMost = 200;
  const std::filesystem::path whole(path);
  std::string name = whole.filename().string().substr(0, kMost);
  name.append(1, '.').append(std::to_string(::getpid()));
  name.append(1, '.').append(std::to_string(count.fetch_add(1))).append(".tmp");
  return (whole.parent_path() / name).string();
}

}  // namespace

Status write_file(const std::string& path, std::span<const std::byte> bytes, Durable durable) {
  struct stat old {};
  const bool there = ::stat(path.c_str(), &old) == 0;
  if (there && !S_ISREG(old.st_mode)) return write_in_place(path, bytes);
  std::error_code why;
  const std::string target = there ? std::filesystem::canonical(path, why).string() : path;
  if (why) return system_error(why.value(), "write", path);
  const std::string unfinished = name_beside(target);
  const auto failed = [&](const char* doing) {
    const int number = errno;
    ::unlink(unfinished.c_str());
    return system_error(number, doing, path);
  };
  {
    const Descriptor file = open_descriptor(unfinished, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (!file && there && errno == EACCES) return write_in_place(target, bytes);
    if (!file) return system_error(errno, "write", path);
    if (there) (void)::fchmod(file.get(), old.st_mode & 07777);
    if (!write_all(file, bytes)) return failed("write");
    if (durable == Durable::yes && ::fdatasync(file.get()) != 0) return failed("write");
  }
  if (::rename(unfinished.c_str(), target.c_str()) != 0) return failed("rename");
  return {};
}

}  // namespace penstock::storage
