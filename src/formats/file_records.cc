#include "formats/file_records.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "formats/open.h"
#include "storage/file.h"
#include "storage/read_ahead.h"

namespace penstock::formats {
namespace {

constexpr std::string_view kImage = "image", kLabel = "label", kPath = "path";

}  // namespace

Result<std::shared_ptr<const Records>> FileRecords::over(Files files,
                                                         const std::vector<std::string>& wanted,
                                                         std::uint64_t max_member) {
  const std::shared_ptr<FileRecords> all(new FileRecords(std::move(files)));
  std::vector<std::string> known{std::string(kImage)};
  if (!all->files_.class_end.empty()) known.emplace_back(kLabel);
  known.emplace_back(kPath);
  for (const std::string& field : wanted) {
    if (std::find(known.begin(), known.end(), field) == known.end()) {
      return Error(Code::no_field, "these files have no field \"" + field +
                                       "\"; there are image, path and, for a folder with a "
                                       "sub-folder per class, label")
          .in_file(all->files_.root);
    }
  }
  for (const std::string& field : known) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), field) != wanted.end()) {
      all->fields_.push_back(field);
    }
  }
  all->image_ = all->wants(kImage);
  all->label_ = all->wants(kLabel);
  all->path_ = all->wants(kPath);
  all->max_member_ = max_member;
  const std::vector<std::uint64_t>& sizes = all->files_.sizes;
  const std::uint64_t total = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t(0));
  all->mean_ = std::max<std::uint64_t>(1, total / std::max<std::size_t>(1, sizes.size()));
  for (std::uint64_t i = 0; i < all->size(); ++i) {
    all->largest_ = std::max(all->largest_, all->bytes(i));
  }
  return std::shared_ptr<const Records>(all);
}

bool FileRecords::wants(std::string_view field) const noexcept {
  return std::find(fields_.begin(), fields_.end(), field) != fields_.end();
}

std::string FileRecords::name(std::uint64_t index) const {
  if (index >= size()) return "record " + std::to_string(index);
  return files_.root + std::string(files_.names[std::size_t(index)]);
}

std::uint64_t FileRecords::bytes(std::uint64_t index) const noexcept {
  if (index >= size()) return 0;
  const std::uint64_t image = image_ ? files_.sizes[std::size_t(index)] : 0;
  if (image > max_member_) return 0;
  return image + files_.root.size() + files_.names[std::size_t(index)].size();
}

void FileRecords::tell_places(std::span<const std::uint64_t> indices,
                              storage::ReadAhead& ahead) const {
  for (const std::uint64_t index : indices) {
    if (ahead.full()) return;
    if (index >= size() || files_.sizes[std::size_t(index)] > max_member_) continue;
    auto file = storage::File::open(name(index));
    if (file) ahead.add(*std::move(file), {0, files_.sizes[std::size_t(index)]});
  }
}

Status FileRecords::read(std::uint64_t index, BufferPool& pool, Record& into) const {
  into.clear();
  if (index >= size()) {
    return Error(Code::out_of_range, "there is no record " + std::to_string(index) +
                                         "; there are " + std::to_string(size()));
  }
  const std::string_view key = files_.names[std::size_t(index)];
  const std::string path = name(index);
  const std::size_t size = image_ ? std::size_t(files_.sizes[std::size_t(index)]) : 0;
  if (size > max_member_) {
    return too_large("the file", size, max_member_).in_file(path);
  }
  const Result<Buffer> memory = pool.allocate(size + path.size());
  if (!memory) return Error(memory.error()).in_file(path);
  if (image_) {
    const auto file = storage::File::open(path);
    if (!file) return file.error();
    if ((*file)->size() != size) {
      return Error(Code::io, "the file was changed while the dataset was open: open it again")
          .in_file(path);
    }
    if (Status status = (*file)->read(0, memory->bytes().first(size)); !status) return status;
  }
  std::memcpy(memory->data() + size, path.data(), path.size());
  const std::span<const std::byte> bytes = memory->bytes();
  const std::span<const std::byte> path_bytes = bytes.subspan(size, path.size());
  into.key = {reinterpret_cast<const char*>(path_bytes.data()) + files_.root.size(), key.size()};
  if (image_) into.fields.push_back({kImage, FieldKind::bytes, bytes.first(size), 0});
  if (label_) {
    const auto found = std::upper_bound(files_.class_end.begin(), files_.class_end.end(), index);
    into.fields.push_back({kLabel, FieldKind::integer, {}, found - files_.class_end.begin()});
  }
  if (path_) into.fields.push_back({kPath, FieldKind::text, path_bytes, 0});
  into.memory = *memory;
  return {};
}

}  // namespace penstock::formats
