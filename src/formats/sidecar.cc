#include "formats/sidecar.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "storage/file.h"
#include "storage/map.h"

namespace penstock::formats {
namespace {

namespace fs = std::filesystem;
constexpr const char* kSuffix = ".psidx";

bool exists(const std::string& path) {
  struct stat info;
  return !path.empty() && ::stat(path.c_str(), &info) == 0;
}

Status belongs_to(const Index& index, storage::Stamp stamp, const std::string& name,
                  const std::string& sidecar) {
  const char* what = nullptr;
  if (index.stamp().size != stamp.size) {
    what = "the size of the file is not the one that its index was made for";
  } else if (index.stamp().mtime != stamp.mtime && !index.has_hashes()) {
    what =
        "the file was changed after its index was made, which has no checksums to tell whether "
        "it still fits";
  }
  if (what == nullptr) return {};
  return Error(Code::corrupt, std::string(what) + " (" + sidecar +
                                  "); make it anew with: penstock index --refresh " + name)
      .in_file(name);
}

// Writes all of it to a new file and renames that. The sidecar's folder exists.
Status write_and_rename(std::span<const std::byte> bytes, const std::string& path) {
  static std::atomic<unsigned> count = 0;
  const std::string unfinished =
      path + "." + std::to_string(::getpid()) + "." + std::to_string(count.fetch_add(1)) + ".tmp";
  const auto failed = [&](const char* doing) {
    const int number = errno;
    ::unlink(unfinished.c_str());
    return storage::system_error(number, doing, path);
  };
  {
    const storage::Descriptor file =
        storage::open_descriptor(unfinished, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (!file) return storage::system_error(errno, "write", path);
    while (!bytes.empty()) {
      const ssize_t count_written =
          ::write(file.get(), bytes.data(), std::min<std::size_t>(bytes.size(), 1 << 30));
      if (count_written < 0 && errno == EINTR) continue;
      if (count_written <= 0) return failed("write");
      bytes = bytes.subspan(std::size_t(count_written));
    }
    if (::fdatasync(file.get()) != 0) return failed("write");
  }
  if (::rename(unfinished.c_str(), path.c_str()) != 0) return failed("rename");
  return {};
}

}  // namespace

// An old one beside the file must go, or it would be found the next time.
Status keep_sidecar(std::span<const std::byte> bytes, const std::string& name) {
  const std::string beside = sidecar_beside(name);
  const Status status = write_and_rename(bytes, beside);
  if (status.ok() || exists(beside)) return status;
  if (const std::string cached = sidecar_in_cache(name); !cached.empty()) {
    std::error_code ignored;
    fs::create_directories(fs::path(cached).parent_path(), ignored);
    const Status in_cache = write_and_rename(bytes, cached);
    if (!in_cache.ok() && exists(cached)) return in_cache;
  }
  return {};
}

Result<std::optional<std::vector<std::byte>>> find_sidecar(const std::string& name) {
  for (const std::string& sidecar : {sidecar_beside(name), sidecar_in_cache(name)}) {
    if (!exists(sidecar)) continue;
    const auto source = storage::open_source(sidecar);
    if (!source) return source.error();
    std::vector<std::byte> bytes(std::size_t((*source)->size()));
    if (Status read = (*source)->read(0, bytes); !read) return std::move(read).error();
    return std::optional(std::move(bytes));
  }
  return std::optional<std::vector<std::byte>>();
}

std::string sidecar_beside(const std::string& name) {
  return name + kSuffix;
}

std::string sidecar_in_cache(const std::string& name) {
  std::string folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    folder = cache;
  } else if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    folder = std::string(home) + "/.cache";
  } else {
    return {};
  }
  std::error_code error;
  const std::string path = storage::is_url(name) ? name : fs::canonical(name, error).string();
  if (error) return {};
  char hash[17];
  std::snprintf(hash, sizeof(hash), "%016llx",
                static_cast<unsigned long long>(::XXH3_64bits(path.data(), path.size())));
  return folder + "/penstock/index/" + hash + "-" + fs::path(path).filename().string() + kSuffix;
}

Result<Index> load_sidecar(const std::string& path) {
  const Result<std::shared_ptr<const storage::Map>> map = storage::Map::open(path);
  if (!map) return map.error();
  if ((*map)->bytes().empty()) {
    return Error(Code::corrupt, "the index is empty; make it anew with: penstock index --refresh")
        .in_file(path);
  }
  Result<Index> index = Index::open((*map)->bytes(), *map);
  if (!index) index.error().in_file(path);
  return index;
}

Status save_sidecar(const Index& index, const std::string& path) {
  return write_and_rename(index.bytes(), path);
}

namespace {

// The sidecar that lies beside a file on a server; nothing if there is none.
Result<std::optional<Index>> fetch_sidecar(const std::string& url) {
  const auto source = storage::open_source(url);
  if (!source && source.error().code() == Code::not_found) return std::optional<Index>();
  if (!source) return source.error();
  const auto size = std::size_t((*source)->size());
  const auto memory = std::make_shared<std::vector<std::uint64_t>>((size + 7) / 8);  // aligned
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(*memory)).first(size);
  if (Status status = (*source)->read(0, bytes); !status) return std::move(status).error();
  Result<Index> index = Index::open(bytes, memory);
  if (!index) return std::move(index).error().in_file(url);
  return std::optional<Index>(*std::move(index));
}

}  // namespace

Result<Index> open_index(const std::string& name, storage::Stamp stamp,
                         const SidecarOptions& options,
                         const std::function<Result<Index>()>& make) {
  if (!options.refresh && storage::is_url(name)) {
    Result<std::optional<Index>> index = fetch_sidecar(sidecar_beside(name));
    if (!index) return std::move(index).error();
    if (*index) {  // it tells the time of the file where that was made, which says nothing here
      Status status =
          belongs_to(**index, {stamp.size, (*index)->stamp().mtime}, name, sidecar_beside(name));
      if (!status) return status.error();
      if ((*index)->has_hashes() || !options.checksums) return **std::move(index);
    }
  }
  if (!options.refresh) {
    for (const std::string& sidecar : {sidecar_beside(name), sidecar_in_cache(name)}) {
      if (!exists(sidecar)) continue;
      Result<Index> index = load_sidecar(sidecar);
      if (!index) return index;
      if (Status status = belongs_to(*index, stamp, name, sidecar); !status) return status.error();
      if (index->has_hashes() || !options.checksums) return index;
      break;
    }
  }
  Result<Index> index = make();
  if (!index || !options.write) return index;
  if (Status status = keep_sidecar(index->bytes(), name); !status) return status.error();
  return index;
}

}  // namespace penstock::formats
