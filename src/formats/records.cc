#include "formats/records.h"

#include <algorithm>

namespace penstock::formats {

const Field* Record::find(std::string_view name) const noexcept {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [name](const Field& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

Findings& Findings::operator+=(const Findings& other) noexcept {
  not_files += other.not_files;
  sparse += other.sparse;
  unnamed += other.unnamed;
  damaged += other.damaged;
  checksums += other.checksums;
  duplicates += other.duplicates;
  cut += other.cut;
  without_end += other.without_end;
  return *this;
}

void Records::read_many(std::span<const std::uint64_t> indices, BufferPool& pool,
                        std::span<Record> into, std::span<Status> outcomes) const {
  for (std::size_t i = 0; i < indices.size(); ++i) {
    outcomes[i] = read(indices[i], pool, into[i]);
  }
}

void Records::read_placed(std::span<const std::uint64_t> indices, std::span<const std::uint32_t>,
                          std::span<const Placement>, BufferPool&, std::span<Record>,
                          std::vector<Failure>& failures) const {
  for (std::size_t i = 0; i < indices.size(); ++i) {
    failures.push_back({i, Error(Code::unsupported, "fields of these records are not placed")});
  }
}

std::uint64_t Records::bytes_of(std::span<const std::uint64_t> indices) const noexcept {
  std::uint64_t sum = 0;
  for (const std::uint64_t index : indices) sum += bytes(index);
  return sum;
}

std::unique_ptr<Fetch> Records::fetch(std::span<const std::uint64_t>) const {
  return nullptr;
}

void Records::advise(Access) const noexcept {}

}  // namespace penstock::formats
