#include "storage/source.h"

#include "storage/file.h"

namespace penstock::storage {

void Source::read_batch(std::span<const Read> reads, std::span<Status> outcomes) const {
  for (std::size_t i = 0; i < reads.size(); ++i) {
    outcomes[i] = read(reads[i].offset, reads[i].into);
  }
}

void Source::advise(Pattern) const noexcept {}

bool is_url(std::string_view name) noexcept {
  const std::size_t colon = name.find("://");
  return colon != std::string_view::npos && colon > 0 && name.find('/') == colon + 1;
}

Result<std::shared_ptr<const Source>> open_source(const std::string& name) {
  if (is_url(name)) {
    return Error(Code::unsupported, "URLs cannot be read yet: download it, and give the path")
        .in_file(name);
  }
  Result<std::shared_ptr<const File>> file = File::open(name);
  if (!file) return std::move(file).error();
  return std::shared_ptr<const Source>(*std::move(file));
}

Result<Stamp> stamp_of(const std::string& name) {
  if (!is_url(name)) return file_stamp(name);
  const Result<std::shared_ptr<const Source>> source = open_source(name);
  if (!source) return source.error();
  return (*source)->stamp();
}

}  // namespace penstock::storage
