// What an open dataset knows; indexed_read.cc reads from it.
#include "formats/indexed_records.h"

#include <algorithm>

#include "formats/digest.h"
#include "formats/record_layout.h"
#include "storage/read_ahead.h"

namespace penstock::formats {

Result<std::shared_ptr<const Records>> IndexedRecords::over(std::vector<Shard> shards,
                                                            const OpenOptions& options,
                                                            const Traits& traits) {
  std::vector<std::string> names;
  std::vector<storage::Stamp> stamps;
  for (Shard& shard : shards) {
    names.push_back(std::move(shard.name));
    stamps.push_back(shard.stamp);
  }
  const std::size_t root = common_folder(names);
  const std::shared_ptr<IndexedRecords> all(
      new IndexedRecords(std::move(names), std::move(stamps)));
  all->max_member_ = options.max_member;
  all->traits_ = traits;
  std::uint64_t payload = 0;
  Digest digest;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    Index& index = shards[s].index;
    all->remote_ = all->remote_ || storage::is_url(all->files_.name(s));
    all->firsts_.push_back(all->firsts_.back() + index.records());
    all->findings_ += index.findings();
    all->largest_ = std::max(all->largest_, index.largest() + traits.trailer);
    payload += index.payload_bytes();
    digest.add(std::string_view(all->files_.name(s)).substr(root));
    digest.add(index.records());
    digest.add(index.digest());
    all->shards_.push_back({std::move(index), {}});
  }
  all->digest_ = digest.value();
  all->mean_ = std::max<std::uint64_t>(1, payload / std::max<std::uint64_t>(1, all->size()));
  if (Status status = all->add_fields(options.fields); !status) return status.error();
  if (options.mmap) {
    if (Status status = all->map_files(); !status) return status.error();
  }
  return std::shared_ptr<const Records>(all);
}

Status IndexedRecords::add_fields(const std::vector<std::string>& wanted) {
  const auto number = [](const std::vector<std::string>& names, std::string_view name) {
    return std::size_t(std::find(names.begin(), names.end(), name) - names.begin());
  };
  std::vector<std::string> seen;
  if (traits_.keyed) seen.emplace_back("__key__");
  for (const Opened& shard : shards_) {
    for (const std::string_view field : shard.index.fields()) {
      if (number(seen, field) == seen.size()) seen.emplace_back(field);
    }
  }
  for (const std::string& field : wanted) {
    if (number(seen, field) < seen.size()) continue;
    std::string known;
    for (const std::string& each : seen) known += (known.empty() ? "" : ", ") + each;
    return Error(Code::no_field, "no sample has a field \"" + field + "\"; there are: " + known)
        .in_file(files_.size() == 0 ? std::string() : files_.name(0));
  }
  for (const std::string& field : seen) {
    if (wanted.empty() || field == "__key__" || number(wanted, field) < wanted.size()) {
      fields_.push_back(field);
    }
  }
  for (Opened& shard : shards_) {
    for (const std::string_view field : shard.index.fields()) {
      const std::size_t n = number(fields_, field);
      shard.fields.push_back(n < fields_.size() ? std::uint16_t(n) : kUnwanted);
    }
  }
  return {};
}

Status IndexedRecords::map_files() {
  for (std::size_t s = 0; s < shards_.size(); ++s) {
    Result<std::shared_ptr<const storage::Map>> map = storage::Map::open(files_.name(s));
    if (!map) return std::move(map).error();
    if ((*map)->stamp() != files_.stamp(s)) {
      return Error(Code::io, "the file was changed while it was opened: open it again")
          .in_file(files_.name(s));
    }
    (void)files_.open(s);  // now: others may replace it later
    Opened& shard = shards_[s];
    shard.map = *std::move(map);
    const std::span<const std::byte> bytes = shard.map->bytes();
    shard.memory = Buffer::wrap_read_only(bytes.data(), bytes.size(),
                                          [map = shard.map, index = shard.index] {});
  }
  mapped_ = true;
  return {};
}

std::uint64_t IndexedRecords::shard_of(std::uint64_t index) const noexcept {
  return std::uint64_t(std::upper_bound(firsts_.begin(), firsts_.end(), index) - firsts_.begin()) -
         1;
}

std::string IndexedRecords::name(std::uint64_t index) const {
  if (index >= size()) return "record " + std::to_string(index);
  Found found;
  found.shard = std::size_t(shard_of(index));
  found.record = index - firsts_[found.shard];
  (void)shards_[found.shard].index.entry(found.record, found.entry);
  return files_.name(found.shard) + ":" + key_of(found);
}

std::uint64_t IndexedRecords::bytes(std::uint64_t index) const noexcept {
  if (index >= size() || mapped_) return 0;
  const auto s = std::size_t(shard_of(index));
  const Opened& shard = shards_[s];
  const std::uint64_t record = index - firsts_[s];
  Index::Entry entry;
  if (shard.index.bad(record) != nullptr || !shard.index.entry(record, entry)) return 0;
  RecordLayout layout;
  Index::Part part;
  for (std::uint64_t p = entry.first; p < entry.first + entry.count; ++p) {
    if (!shard.index.part(record, p, part)) return 0;
    if (shard.fields[part.field] == kUnwanted) continue;
    if (part.size > max_member_ || !layout.add(part.offset, part.size + traits_.trailer)) return 0;
  }
  return layout.total() + entry.key.size();
}

void IndexedRecords::tell_places(std::span<const std::uint64_t> indices,
                                 storage::ReadAhead& ahead) const {
  if (in_order_) return;
  Index::Entry entry;
  Index::Part part;
  for (const std::uint64_t index : indices) {
    if (ahead.full()) return;
    if (index >= size()) continue;
    const auto s = std::size_t(shard_of(index));
    const Opened& shard = shards_[s];
    const std::uint64_t record = index - firsts_[s];
    if (shard.index.bad(record) != nullptr || !shard.index.entry(record, entry)) continue;
    const auto file = files_.open(s);
    if (!file) continue;
    for (std::uint64_t p = entry.first; p < entry.first + entry.count; ++p) {
      if (!shard.index.part(record, p, part) || part.size > max_member_) break;
      if (shard.fields[part.field] == kUnwanted) continue;
      ahead.add(*file, {part.offset, part.size + traits_.trailer});
    }
  }
}

void IndexedRecords::advise(Access access) const noexcept {
  const auto pattern =
      access == Access::random ? storage::Pattern::random : storage::Pattern::sequential;
  in_order_ = access == Access::sequential;
  files_.advise(pattern);
  for (const Opened& shard : shards_) {
    if (shard.map) shard.map->advise(pattern);
  }
}

}  // namespace penstock::formats
