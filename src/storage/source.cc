#include "storage/source.h"

#include <cstring>

#include "storage/file.h"
#include "storage/http.h"

namespace penstock::storage {
namespace {

class MemorySource final : public Source {
 public:
  MemorySource(std::span<const std::byte> bytes, std::string name)
      : bytes_(bytes), name_(std::move(name)) {}

  const std::string& name() const noexcept override { return name_; }
  Stamp stamp() const noexcept override { return {bytes_.size(), 0}; }
  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    if (offset > bytes_.size() || into.size() > bytes_.size() - offset) {
      return Error(Code::io, "the read goes beyond the end").in_file(name_);
    }
    if (!into.empty()) std::memcpy(into.data(), bytes_.data() + offset, into.size());
    return {};
  }

 private:
  std::span<const std::byte> bytes_;
  std::string name_;
};

}  // namespace

std::shared_ptr<const Source> source_over(std::span<const std::byte> bytes, std::string name) {
  return std::make_shared<MemorySource>(bytes, std::move(name));
}

void Source::read_batch(std::span<const Read> reads, std::span<Status> outcomes) const {
  for (std::size_t i = 0; i < reads.size(); ++i) {
    outcomes[i] = read(reads[i].offset, reads[i].into);
  }
}

void Source::start(const Read& read, ReadDone done, const Abandoned&) const {
  done(this->read(read.offset, read.into));
}

Status Source::still_has(std::uint64_t) const {
  return {};
}

void Source::advise(Pattern) const noexcept {}

bool Source::read_ahead(Range) const noexcept {
  return false;
}

bool is_url(std::string_view name) noexcept {
  const std::size_t colon = name.find("://");
  return colon != std::string_view::npos && colon > 0 && name.find('/') == colon + 1;
}

Result<std::shared_ptr<const Source>> open_source(const std::string& name) {
  if (is_url(name)) return open_http_source(name);
  Result<std::shared_ptr<const File>> file = File::open(name);
  if (!file) return std::move(file).error();
  return std::shared_ptr<const Source>(*std::move(file));
}

Result<std::shared_ptr<const Source>> open_known_source(const std::string& name, Stamp stamp) {
  if (is_url(name)) return open_http_source(name, stamp);
  Result<std::shared_ptr<const Source>> opened = open_source(name);
  if (opened && (*opened)->stamp() != stamp) {
    return Error(Code::io, "the file was changed while the dataset was open: open it again")
        .in_file(name);
  }
  return opened;
}

Result<Stamp> stamp_of(const std::string& name) {
  if (!is_url(name)) return file_stamp(name);
  const Result<std::shared_ptr<const Source>> source = open_source(name);
  if (!source) return source.error();
  return (*source)->stamp();
}

}  // namespace penstock::storage
