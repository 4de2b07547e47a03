#include "formats/chunked/zarr/store.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "formats/zip.h"
#include "storage/file.h"
#include "storage/http.h"

namespace penstock::formats::zarr {
namespace {

using storage::Source;

class Folder final : public Store {
 public:
  explicit Folder(std::string root) : root_(std::move(root)) {
    while (root_.size() > 1 && root_.ends_with('/')) root_.pop_back();
    connections_ = storage::keep_connections({&root_, 1});
  }
  const std::string& name() const noexcept override { return root_; }
  std::string name(const std::string& key) const override { return root_ + "/" + key; }

  Result<std::shared_ptr<const Source>> open(const std::string& key) const override {
    Result<std::shared_ptr<const Source>> source = storage::open_source(name(key));
    if (!source && source.error().code() == Code::not_found) return std::shared_ptr<const Source>();
    return source;
  }

  Result<std::optional<Buffer>> read(const std::string& key, BufferPool& pool) const override {
    const Result<std::shared_ptr<const Source>> source = open(key);
    if (!source) return source.error();
    if (*source == nullptr) return std::optional<Buffer>();
    const auto size = std::size_t((*source)->size());
    Result<Buffer> memory = pool.allocate(std::max<std::size_t>(size, 1));
    if (!memory) return Error(memory.error()).in_file(name(key));
    Status status = (*source)->read(0, memory->bytes().first(size));
    if (!status) return std::move(status).error();
    if (size == 0) return Error(Code::corrupt, "the file is empty").in_file(name(key));
    return std::optional(*std::move(memory));
  }

  Result<std::vector<std::string>> folders(const std::string& prefix) const override {
    if (storage::is_url(root_)) {
      return Error(Code::unsupported,
                   "a web server does not tell what is below a group: name the arrays with "
                   "fields=[...], or consolidate the metadata (zarr.consolidate_metadata)")
          .in_file(root_);
    }
    std::vector<std::string> found;
    std::error_code failure;
    std::filesystem::directory_iterator at(name(prefix), failure), end;
    for (; !failure && at != end; at.increment(failure)) {
      std::error_code unknown;
      const std::string base = at->path().filename().string();
      if (!base.starts_with('.') && at->is_directory(unknown)) found.push_back(base);
    }
    if (failure) return storage::system_error(failure.value(), "list", name(prefix));
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  std::string root_;
  std::shared_ptr<const void> connections_;  // no chunk needs them for long
};

// The bytes of a stored member of an archive.
class Part final : public Source {
 public:
  Part(std::shared_ptr<const Source> whole, std::uint64_t offset, std::uint64_t size)
      : whole_(std::move(whole)), offset_(offset), size_(size) {}
  const std::string& name() const noexcept override { return whole_->name(); }
  storage::Stamp stamp() const noexcept override { return {size_, whole_->stamp().mtime}; }
  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    if (Status status = check(offset, into.size()); !status) return status;
    return whole_->read(offset_ + offset, into);
  }
  void start(const storage::Read& read, storage::ReadDone done,
             const storage::Abandoned& abandoned) const override {
    if (Status status = check(read.offset, read.into.size()); !status) return done(status);
    whole_->start({offset_ + read.offset, read.into}, std::move(done), abandoned);
  }
  bool read_ahead(storage::Range range) const noexcept override {
    return whole_->read_ahead({offset_ + range.offset, range.size});
  }

 private:
  Status check(std::uint64_t offset, std::size_t size) const {
    if (offset <= size_ && size <= size_ - offset) return {};
    return Error(Code::out_of_range, "the read goes beyond the end of the member").in_file(name());
  }

  std::shared_ptr<const Source> whole_;
  std::uint64_t offset_, size_;
};

// Memory that is a source, and kept by it.
class Unpacked final : public Source {
 public:
  Unpacked(Buffer memory, std::size_t size, std::string name)
      : memory_(std::move(memory)),
        source_(storage::source_over(memory_.bytes().first(size), std::move(name))) {}
  const std::string& name() const noexcept override { return source_->name(); }
  storage::Stamp stamp() const noexcept override { return source_->stamp(); }
  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    return source_->read(offset, into);
  }

 private:
  Buffer memory_;
  std::shared_ptr<const Source> source_;
};

bool is_metadata(std::string_view base) noexcept {
  return base == "zarr.json" || base == ".zarray" || base == ".zgroup" || base == ".zattrs" ||
         base == ".zmetadata";
}

// A key that is not there is fill values, or an array less: so it must not be that a flipped bit in
// the archive's directory has hidden it. The members that it could have become are looked at: their
// local headers have their names a second time. Where nothing is missing this costs nothing.
class Archive final : public Store {
 public:
  Archive(std::shared_ptr<const Source> source, ZipFile zip)
      : source_(std::move(source)), zip_(std::move(zip)) {
    for (const ZipFile::Member& member : zip_.members()) {
      members_.emplace(member.name, &member);
      last_.insert_or_assign(member.name, &member);  // the last of a name counts
    }
  }
  const std::string& name() const noexcept override { return source_->name(); }
  std::string name(const std::string& key) const override { return source_->name() + ":" + key; }

  Result<std::shared_ptr<const Source>> open(const std::string& key) const override {
    const Result<const ZipFile::Member*> found = find(key);
    if (!found) return found.error();
    if (*found == nullptr) return std::shared_ptr<const Source>();
    const ZipFile::Member& member = **found;
    if (member.method == 0 && !member.encrypted && member.size == member.packed) {
      const Result<std::uint64_t> start = zip_.payload(member);
      if (!start) return start.error();
      return std::shared_ptr<const Source>(std::make_shared<Part>(source_, *start, member.size));
    }
    return open_checked(key);
  }

  Result<std::shared_ptr<const Source>> open_checked(const std::string& key) const override {
    const Result<const ZipFile::Member*> found = find(key);
    if (!found) return found.error();
    if (*found == nullptr) return std::shared_ptr<const Source>();
    BufferPool pool;
    Result<Buffer> memory = zip_.read(**found, pool);
    if (!memory) return std::move(memory).error();
    return std::shared_ptr<const Source>(
        std::make_shared<Unpacked>(*std::move(memory), std::size_t((*found)->size), name(key)));
  }

  Result<std::optional<Buffer>> read(const std::string& key, BufferPool& pool) const override {
    const Result<const ZipFile::Member*> found = find(key);
    if (!found) return found.error();
    if (*found == nullptr) return std::optional<Buffer>();
    if ((*found)->size == 0) return Error(Code::corrupt, "it is empty").in_file(name(key));
    Result<Buffer> memory = zip_.read(**found, pool);
    if (!memory) return std::move(memory).error();
    return std::optional(*std::move(memory));
  }

  Result<std::vector<std::string>> folders(const std::string& prefix) const override {
    std::set<std::string> found;
    for (const ZipFile::Member& member : zip_.members()) {
      if (!member.name.starts_with(prefix)) continue;
      const std::size_t slash = member.name.find('/', prefix.size());
      if (slash != member.name.npos) {
        found.insert(member.name.substr(prefix.size(), slash - prefix.size()));
      }
      // Metadata that is there twice, and what no group has: either may have been another array's.
      const bool metadata = is_metadata(member.name.substr(member.name.rfind('/') + 1));
      if (metadata ? members_.count(member.name) > 1 : slash == member.name.npos) {
        if (Status status = verify(member); !status) return std::move(status).error();
      }
    }
    return std::vector<std::string>(found.begin(), found.end());
  }

 private:
  // Null if it is not there.
  Result<const ZipFile::Member*> find(const std::string& key) const {
    const auto found = last_.find(key);
    if (found != last_.end()) return found->second;
    std::string other = key;
    for (char& letter : other) {
      const char own = letter;
      for (int bit = 0; bit < 8; ++bit) {
        letter = static_cast<char>(own ^ (1 << bit));
        const auto [first, end] = members_.equal_range(other);
        for (auto at = first; at != end; ++at) {
          if (Status status = verify(*at->second); !status) return std::move(status).error();
        }
      }
      letter = own;
    }
    return nullptr;
  }

  // That its local header agrees with the directory.
  Status verify(const ZipFile::Member& member) const {
    {
      const std::lock_guard hold(mutex_);
      if (verified_.contains(&member)) return {};
    }
    const Result<std::uint64_t> start = zip_.payload(member);
    if (!start) return start.error();
    const std::lock_guard hold(mutex_);
    verified_.insert(&member);
    return {};
  }

  std::shared_ptr<const Source> source_;
  ZipFile zip_;
  std::unordered_map<std::string_view, const ZipFile::Member*> last_;
  std::unordered_multimap<std::string_view, const ZipFile::Member*> members_;
  mutable std::mutex mutex_;
  mutable std::unordered_set<const ZipFile::Member*> verified_;
};

}  // namespace

Result<std::shared_ptr<const Store>> open_store(const std::string& name) {
  std::string_view path = name;
  if (storage::is_url(path)) path = path.substr(0, path.find_first_of("?#"));
  if (!path.ends_with(".zip")) {
    return std::shared_ptr<const Store>(std::make_shared<Folder>(name));
  }
  Result<std::shared_ptr<const Source>> source = storage::open_source(name);
  if (!source) return std::move(source).error();
  Result<ZipFile> zip = ZipFile::open(*source);
  if (!zip) return std::move(zip).error();
  return std::shared_ptr<const Store>(
      std::make_shared<Archive>(*std::move(source), *std::move(zip)));
}

}  // namespace penstock::formats::zarr
