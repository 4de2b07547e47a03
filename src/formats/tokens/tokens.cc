#include "formats/tokens/tokens.h"

#include <algorithm>

#include "formats/digest.h"
#include "storage/file.h"
#include "storage/map.h"
#include "storage/source.h"

namespace penstock::formats::tokens {
namespace {

constexpr std::size_t kFetched = 4096;  // bytes

// One file: mapped, or read as needed if it is far away.
struct File {
  std::string name;
  std::uint64_t tokens = 0;
  Buffer map;
  std::shared_ptr<const storage::Source> source;
};

// A stretch that windows are cut from: a document, or a whole file.
struct Stretch {
  std::uint32_t file = 0;
  std::uint64_t start = 0, size = 0;  // tokens
};

class Windows final : public Records {
 public:
  Windows(Options options, std::vector<File> files)
      : options_(std::move(options)), files_(std::move(files)), item_(size_of(options_.dtype)) {
    fields_ = {"tokens"};
    if (by_document()) fields_.insert(fields_.end(), {"length", "document"});
    std::vector<std::string> names;
    for (const File& file : files_) names.push_back(file.name);
    const std::size_t root = common_folder(names);
    Digest digest;
    digest.add("tokens");
    digest.add(name_of(options_.dtype));
    digest.add(options_.window);
    digest.add(options_.stride);
    for (std::size_t f = 0; f < files_.size(); ++f) {
      digest.add(std::string_view(names[f]).substr(root));
      digest.add(files_[f].tokens);
      if (!by_document()) {
        add({std::uint32_t(f), 0, files_[f].tokens});
        continue;
      }
      const std::vector<std::uint64_t>& starts = options_.documents[f];
      for (std::size_t d = 0; d < starts.size(); ++d) {
        const std::uint64_t end = d + 1 < starts.size() ? starts[d + 1] : files_[f].tokens;
        add({std::uint32_t(f), starts[d], end - starts[d]});
      }
      digest.add(starts.size());
    }
    digest.add(size());
    digest_ = digest.value();
  }

  std::uint64_t size() const noexcept override { return firsts_.back(); }
  const std::vector<std::string>& fields() const noexcept override { return fields_; }

  Status read(std::uint64_t index, BufferPool& pool, Record& into) const override {
    std::vector<std::uint32_t> whole;
    return read(index, pool, into, whole);
  }

  // `whole`: files that were looked at before, in the same breath.
  Status read(std::uint64_t index, BufferPool& pool, Record& into,
              std::vector<std::uint32_t>& whole) const {
    into.clear();
    if (index >= size()) {
      return Error(Code::out_of_range, "there is no window " + std::to_string(index) +
                                           "; there are " + std::to_string(size()));
    }
    const Place place = find(index);
    const File& file = files_[place.file];
    if (file.map && std::find(whole.begin(), whole.end(), place.file) == whole.end()) {
      // What is gone after this is for whoever looks at the tokens (storage/fault_guard.h).
      Status status = storage::still_whole(file.name, file.tokens * item_);
      if (!status) return status;
      whole.push_back(place.file);
    }
    const std::uint64_t offset = place.token * item_;
    const auto bytes = std::size_t(place.tokens * item_);
    if (file.map) {
      into.memory = file.map;
      into.fields.push_back(
          {"tokens", FieldKind::bytes, file.map.bytes().subspan(std::size_t(offset), bytes), 0});
    } else {
      Result<Buffer> memory = pool.allocate(std::max<std::size_t>(bytes, 1));
      if (!memory) return Error(memory.error()).in_file(file.name);
      const std::span<std::byte> room = memory->bytes().first(bytes);
      if (Status status = file.source->read(offset, room); !status) return status;
      into.memory = *std::move(memory);
      into.fields.push_back({"tokens", FieldKind::bytes, room, 0});
    }
    if (by_document()) {
      into.fields.push_back({"length", FieldKind::integer, {}, std::int64_t(place.tokens)});
      into.fields.push_back({"document", FieldKind::integer, {}, std::int64_t(place.stretch)});
    }
    return {};
  }

  // Short windows are asked for before any is looked at, so that misses of the cache overlap.
  void read_many(std::span<const std::uint64_t> indices, BufferPool& pool, std::span<Record> into,
                 std::span<Status> outcomes) const override {
    std::vector<std::uint32_t> whole;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      outcomes[i] = read(indices[i], pool, into[i], whole);
    }
    for (const Record& record : into) {
      if (record.fields.empty()) continue;
      const std::span<const std::byte> bytes = record.fields[0].bytes;
      const std::size_t first = std::min<std::size_t>(bytes.size(), kFetched);
      for (std::size_t at = 0; at < first; at += 64) __builtin_prefetch(bytes.data() + at);
    }
  }

  std::string name(std::uint64_t index) const override {
    if (index >= size()) return "window " + std::to_string(index);
    const Place place = find(index);
    return files_[place.file].name + ":" + std::to_string(place.token);
  }
  std::uint64_t bytes(std::uint64_t index) const noexcept override {
    if (index >= size()) return 0;
    const Place place = find(index);
    return files_[place.file].map ? 0 : place.tokens * item_;
  }
  std::uint64_t largest() const noexcept override { return options_.window * item_; }
  std::uint64_t mean_bytes() const noexcept override { return options_.window * item_; }
  std::uint64_t digest() const noexcept override { return digest_; }
  Findings findings() const noexcept override { return {}; }

 private:
  struct Place {
    std::size_t stretch = 0;
    std::uint32_t file = 0;
    std::uint64_t token = 0, tokens = 0;
  };

  bool by_document() const noexcept { return !options_.documents.empty(); }

  void add(const Stretch& stretch) {
    const std::uint64_t window = options_.window, stride = options_.stride;
    std::uint64_t count = 0;
    if (stretch.size >= window) {
      const std::uint64_t behind = stretch.size - window;  // of the first window
      count = 1 + (by_document() ? (behind + stride - 1) / stride : behind / stride);
    } else if (by_document() && stretch.size > 0) {
      count = 1;
    }
    stretches_.push_back(stretch);
    firsts_.push_back(firsts_.back() + count);
  }

  Place find(std::uint64_t index) const noexcept {
    const auto above = std::upper_bound(firsts_.begin(), firsts_.end(), index);
    const auto s = std::size_t(above - firsts_.begin()) - 1;
    const Stretch& stretch = stretches_[s];
    const std::uint64_t start = (index - firsts_[s]) * options_.stride;
    return {s, stretch.file, stretch.start + start,
            std::min(options_.window, stretch.size - start)};
  }

  Options options_;
  std::vector<File> files_;
  std::size_t item_;
  std::vector<std::string> fields_;
  std::vector<Stretch> stretches_;
  std::vector<std::uint64_t> firsts_{0};  // stretch s has windows firsts_[s] to firsts_[s + 1] - 1
  std::uint64_t digest_ = 0;
};

Result<File> open_file(const std::string& path, DType dtype) {
  File file;
  file.name = path;
  Result<std::shared_ptr<const storage::Source>> source = storage::open_source(path);
  if (!source) return std::move(source).error();
  const std::uint64_t size = (*source)->size();
  if (size % size_of(dtype) != 0) {
    return Error(Code::corrupt, "the file has " + std::to_string(size) +
                                    " bytes, which is no whole number of " +
                                    std::string(penstock::name_of(dtype)) +
                                    " tokens: was it cut off, or is dtype another?")
        .in_file(path);
  }
  file.tokens = size / size_of(dtype);
  if (storage::is_url(path) || size == 0) {
    file.source = *std::move(source);
    return file;
  }
  const auto map = storage::Map::open(path);
  if (!map) return map.error();
  if ((*map)->stamp() != (*source)->stamp()) {
    return Error(Code::io, "the file was changed while it was opened: try again").in_file(path);
  }
  const std::span<const std::byte> bytes = (*map)->bytes();
  file.map = Buffer::wrap_read_only(bytes.data(), bytes.size(), [map = *map] {});
  return file;
}

Status check_documents(const std::vector<std::uint64_t>& starts, const File& file) {
  for (std::size_t d = 0; d < starts.size(); ++d) {
    if (starts[d] <= file.tokens && (d == 0 ? starts[0] == 0 : starts[d - 1] <= starts[d]))
      continue;
    return Error(Code::corrupt, "documents: number " + std::to_string(d) + " begins at token " +
                                    std::to_string(starts[d]) + ", but they must begin at 0, " +
                                    "ascend, and lie within the " + std::to_string(file.tokens) +
                                    " tokens of the file")
        .in_file(file.name);
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const Records>> open(const std::vector<std::string>& paths,
                                            Options options) {
  if (options.dtype != DType::uint16 && options.dtype != DType::uint32 &&
      options.dtype != DType::int32) {
    return Error(Code::invalid_argument, "tokens are uint16, uint32 or int32");
  }
  if (options.window == 0 || options.window > (std::uint64_t(1) << 40)) {
    return Error(Code::invalid_argument, "window: give the number of tokens in a sample");
  }
  if (options.stride == 0) options.stride = options.window;
  if (!options.documents.empty() && options.documents.size() != paths.size()) {
    return Error(Code::invalid_argument, "documents: give one index for each file");
  }
  std::vector<File> files;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    Result<File> file = open_file(paths[i], options.dtype);
    if (!file) return std::move(file).error();
    if (!options.documents.empty()) {
      Status status = check_documents(options.documents[i], *file);
      if (!status) return std::move(status).error();
    }
    files.push_back(*std::move(file));
  }
  return std::shared_ptr<const Records>(
      std::make_shared<Windows>(std::move(options), std::move(files)));
}

}  // namespace penstock::formats::tokens
