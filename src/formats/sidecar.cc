#include "formats/sidecar.h"

#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "storage/file.h"
#include "storage/map.h"
#include "storage/write.h"

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

// The sidecar's folder exists.
Status write(std::span<const std::byte> bytes, const std::string& path) {
  return storage::write_file(path, bytes, storage::Durable::yes);
}

}  // namespace

// An old one beside the file must go, or it would be found the next time.
Status keep_sidecar(std::span<const std::byte> bytes, const std::string& name) {
  const std::string beside = sidecar_beside(name);
  const Status status = write(bytes, beside);
  if (status.ok() || exists(beside)) return status;
  if (const std::string cached = sidecar_in_cache(name); !cached.empty()) {
    std::error_code ignored;
    fs::create_directories(fs::path(cached).parent_path(), ignored);
    const Status in_cache = write(bytes, cached);
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

// A URL may have a query behind its path, which is for its sidecar, too.
std::string sidecar_beside(const std::string& name) {
  const std::size_t end = storage::is_url(name) ? name.find_first_of("?#") : name.npos;
  return name.substr(0, end) + kSuffix + (end == name.npos ? "" : name.substr(end));
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
  const std::string plain =
      path.substr(0, storage::is_url(path) ? path.find_first_of("?#") : path.npos);
  return folder + "/penstock/index/" + hash + "-" + fs::path(plain).filename().string() + kSuffix;
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
  return write(index.bytes(), path);
}

namespace {

constexpr std::size_t kFirstRead = std::size_t(1) << 20;

// The sidecar that lies beside a file on a server; nothing if there is none. Servers say in several
// ways that there is none, or that it is not for us: with a 403, or a page in its place. How long
// it is they may say as they like: memory is taken if the first bytes agree.
Result<std::optional<Index>> fetch_sidecar(const std::string& url) {
  const auto source = storage::open_source(url);
  if (!source) return std::optional<Index>();
  const auto size = std::size_t((*source)->size());
  std::vector<std::byte> first(std::min(size, kFirstRead));
  if (Status status = (*source)->read(0, first); !status) return std::move(status).error();
  if (!Index::begins_as_one(first)) return std::optional<Index>();
  const bool whole = size == first.size();
  const std::size_t bytes = whole || Index::length_of(first) == size ? size : first.size();

  const std::shared_ptr<std::uint64_t[]> memory(  // aligned, and of no cost until it is filled
      new (std::nothrow) std::uint64_t[bytes / 8 + 1]);
  if (memory == nullptr) {
    return Error(Code::out_of_memory,
                 "no memory for an index of " + std::to_string(bytes) + " bytes")
        .in_file(url);
  }
  const std::span all(reinterpret_cast<std::byte*>(memory.get()), bytes);
  std::ranges::copy(first, all.begin());
  if (bytes > first.size()) {
    Status status = (*source)->read(first.size(), all.subspan(first.size()));
    if (!status) return std::move(status).error();
  }
  Result<Index> index = Index::open(all, memory);
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
