#include "formats/tokens/tokens.h"

#include "formats/tokens/windows.h"
#include "storage/map.h"

namespace penstock::formats::tokens {
namespace {

Result<File> open_file(const std::string& path, DType dtype) {
  File file;
  file.name = path;
  Result<std::shared_ptr<const storage::Source>> source = storage::open_source(path);
  if (!source) return std::move(source).error();
  file.stamp = (*source)->stamp();
  const std::uint64_t size = file.stamp.size;
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
  if ((*map)->stamp() != file.stamp) {
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
