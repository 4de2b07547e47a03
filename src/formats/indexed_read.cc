// Reading records of IndexedRecords, one by one and many at a time.
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "formats/indexed_records.h"
#include "formats/record_layout.h"
#include "storage/fault_guard.h"
#include "storage/ranges.h"

namespace penstock::formats {

Status IndexedRecords::find(std::uint64_t index, Found& into) const {
  if (index >= size()) {
    return Error(Code::out_of_range, "there is no record " + std::to_string(index) +
                                         "; there are " + std::to_string(size()));
  }
  into.shard = std::size_t(shard_of(index));
  into.record = index - firsts_[into.shard];
  const Index& records = shards_[into.shard].index;
  if (!records.entry(into.record, into.entry)) return contradiction(into);
  if (const Index::Bad* bad = records.bad(into.record); bad != nullptr) [[unlikely]] {
    return traits_.explain(bad->trouble, bad->offset, key_of(into), files_.name(into.shard));
  }
  return {};
}

std::string IndexedRecords::key_of(const Found& found) const {
  return traits_.keyed ? std::string(found.entry.key) : std::to_string(found.record);
}

Error IndexedRecords::located(Error error, const Found& found) const {
  return std::move(error).in_file(files_.name(found.shard)).of_sample(key_of(found));
}

Error IndexedRecords::contradiction(const Found& found) const {
  return located(Error(Code::corrupt, "the index contradicts itself at record " +
                                          std::to_string(found.record) +
                                          "; make it anew with: penstock index --refresh"),
                 found);
}

// The memory that reading takes, and what is read if it is read in one go; `pieces` if it is not.
Status IndexedRecords::measure(const Found& found, Extent& into) const {
  const Opened& shard = shards_[found.shard];
  RecordLayout layout;
  Index::Part part;
  into = {};
  const std::uint64_t behind = found.entry.first + found.entry.count;
  for (std::uint64_t p = found.entry.first; p < behind; ++p) {
    if (!shard.index.part(found.record, p, part)) return contradiction(found);
    if (shard.fields[part.field] == kUnwanted) continue;
    if (part.size > max_member_) {
      const std::string what =
          traits_.keyed ? "field " + fields_[shard.fields[part.field]] : "this record";
      return located(too_large(what, part.size, max_member_), found)
          .at_offset(std::int64_t(part.offset));
    }
    const std::uint64_t size = part.size + traits_.trailer;
    if (size > shard.index.stamp().size - part.offset || !layout.add(part.offset, size)) {
      return contradiction(found);
    }
    if (into.pieces == 0) into.range.offset = part.offset;
    into.pieces += layout.new_read() ? 1 : 0;
    into.range.size = part.offset + size - into.range.offset;
  }
  into.memory = layout.total();
  return {};
}

Status IndexedRecords::verify(const Found& found, const Index::Part& part, std::uint64_t number,
                              std::span<const std::byte> bytes) const {
  const Opened& shard = shards_[found.shard];
  const bool hashed = shard.index.has_hashes();
  if (traits_.check == nullptr && !hashed) return {};
  bool sound = true;
  std::uint64_t hash = 0;
  const auto look = [&] {
    if (traits_.check != nullptr) {
      sound = traits_.check(bytes, {bytes.data() + bytes.size(), std::size_t(traits_.trailer)});
    }
    if (hashed) hash = ::XXH3_64bits(bytes.data(), bytes.size());
  };
  if (!mapped_) {
    look();
  } else if (!storage::survives(look)) {
    return located(files_.still_whole(found.shard, false).error(), found);
  }
  if (!sound) {
    return located(Error(Code::corrupt,
                         "the checksum of this record is wrong: its bytes were changed after it "
                         "was written, or the index is another file's (make it anew with: "
                         "penstock index --refresh)"),
                   found)
        .at_offset(std::int64_t(part.offset));
  }
  if (!hashed || hash == shard.index.hash(number)) return {};
  return located(Error(Code::corrupt, "the bytes of field " + fields_[shard.fields[part.field]] +
                                          " are not those that were there when the index was made"),
                 found)
      .at_offset(std::int64_t(part.offset));
}

namespace {

// A copy of the key, in memory that has room for it.
std::string_view put_key(std::string_view key, const Buffer& memory, std::size_t at) {
  if (!key.empty()) std::memcpy(memory.data() + at, key.data(), key.size());
  return {reinterpret_cast<const char*>(memory.data()) + at, key.size()};
}

}  // namespace

// Makes fields of bytes that are in memory: `place` says where the part that begins at an offset
// is. The key lives as long as the memory.
template <class Place>
Status IndexedRecords::make_fields(const Found& found, const Buffer& memory, std::string_view key,
                                   const Place& place, Record& into) const {
  const Opened& shard = shards_[found.shard];
  const std::span<const std::byte> key_bytes = std::as_bytes(std::span(key));
  into.fields.clear();
  into.key = key;
  if (traits_.keyed) into.fields.push_back({fields_[0], FieldKind::text, key_bytes, 0});
  Index::Part part;
  const std::uint64_t behind = found.entry.first + found.entry.count;
  for (std::uint64_t p = found.entry.first; p < behind; ++p) {
    if (!shard.index.part(found.record, p, part)) return contradiction(found);
    const std::uint16_t field = shard.fields[part.field];
    if (field == kUnwanted) continue;
    const std::span<const std::byte> bytes =
        memory.bytes().subspan(std::size_t(place(part)), std::size_t(part.size));
    if (Status status = verify(found, part, p, bytes); !status) return status;
    into.fields.push_back({fields_[field], FieldKind::bytes, bytes, 0});
  }
  into.memory = memory;
  return {};
}

Status IndexedRecords::read(std::uint64_t index, BufferPool& pool, Record& into) const {
  Found found;
  Extent extent;
  Status status = find(index, found);
  if (status.ok()) status = measure(found, extent);
  if (status.ok() && mapped_) status = still_whole(found);
  if (status.ok()) {
    status = mapped_ ? view_mapped(found, into) : read_found(found, extent, pool, into);
  }
  if (!status.ok()) into.clear();
  return status;
}

// What is gone after this is for whoever looks at the bytes.
Status IndexedRecords::still_whole(const Found& found) const {
  Status status = files_.still_whole(found.shard);
  if (!status) return located(std::move(status).error(), found);
  return status;
}

Status IndexedRecords::view_mapped(const Found& found, Record& into) const {
  const auto place = [](const Index::Part& part) { return part.offset; };
  return make_fields(found, shards_[found.shard].memory, found.entry.key, place, into);
}

Status IndexedRecords::view_fetched(const Found& found, const Extent& extent, const Buffer& memory,
                                    std::size_t at, std::size_t key_at, Record& into) const {
  const std::string_view key = put_key(found.entry.key, memory, key_at);
  if (extent.pieces <= 1) {
    const auto place = [&](const Index::Part& part) {
      return at + (part.offset - extent.range.offset);
    };
    return make_fields(found, memory, key, place, into);
  }
  RecordLayout layout;
  const auto place = [&](const Index::Part& part) {
    (void)layout.add(part.offset, part.size + traits_.trailer);
    return at + layout.place();
  };
  return make_fields(found, memory, key, place, into);
}

Status IndexedRecords::read_found(const Found& found, const Extent& extent, BufferPool& pool,
                                  Record& into) const {
  const std::size_t key_size = found.entry.key.size();
  const auto size = std::size_t(extent.memory);
  Result<Buffer> memory = pool.allocate(std::max<std::size_t>(size + key_size, 1));
  if (!memory) return located(std::move(memory).error(), found);
  const auto file = files_.open(found.shard);
  if (!file) return located(file.error(), found);

  if (extent.pieces == 1) {
    Status status = (*file)->read(extent.range.offset, memory->bytes().first(size));
    if (!status) return located(std::move(status).error(), found);
    const auto place = [&](const Index::Part& part) { return part.offset - extent.range.offset; };
    return make_fields(found, *memory, put_key(found.entry.key, *memory, size), place, into);
  }
  RecordLayout layout;
  Status status;
  const auto place = [&](const Index::Part& part) {
    const std::uint64_t wanted = part.size + traits_.trailer;
    (void)layout.add(part.offset, wanted);
    if (status.ok()) {
      status = (*file)->read(
          part.offset, memory->bytes().subspan(std::size_t(layout.place()), std::size_t(wanted)));
    }
    return layout.place();
  };
  Status made = make_fields(found, *memory, put_key(found.entry.key, *memory, size), place, into);
  if (!status.ok()) return located(std::move(status).error(), found);
  return made;
}

void IndexedRecords::look_ahead(std::span<const std::uint64_t> indices,
                                std::size_t i) const noexcept {
  constexpr std::size_t kFar = 24, kNear = 12;
  const auto hint = [&](std::size_t from, std::size_t behind, const auto& fetch) {
    for (std::size_t k = from; k < std::min(behind, indices.size()); ++k) {
      if (indices[k] >= size()) continue;
      const auto shard = std::size_t(shard_of(indices[k]));
      (shards_[shard].index.*fetch)(indices[k] - firsts_[shard]);
    }
  };
  hint(i == 0 ? 0 : i + kFar, i + kFar + 1, &Index::fetch_entry);
  hint(i == 0 ? 0 : i + kNear, i + kNear + 1, &Index::fetch_parts);
}

std::uint64_t IndexedRecords::bytes_of(std::span<const std::uint64_t> indices) const noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    look_ahead(indices, i);
    sum += bytes(indices[i]);
  }
  return sum;
}

// Where those are that can be read.
void IndexedRecords::find_many(std::span<const std::uint64_t> indices, std::span<Record> into,
                               std::span<Status> outcomes, std::vector<Wanted>& wanted) const {
  wanted.reserve(indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    look_ahead(indices, i);
    Wanted& one = wanted.emplace_back();
    one.into = &into[i];
    one.outcome = &outcomes[i];
    outcomes[i] = find(indices[i], one.found);
    if (outcomes[i].ok()) outcomes[i] = measure(one.found, one.extent);
    if (!outcomes[i].ok()) {
      into[i].clear();
      wanted.pop_back();
    } else if (mapped_) {
      const std::byte* at = shards_[one.found.shard].memory.data() + one.extent.range.offset;
      __builtin_prefetch(at);
      __builtin_prefetch(at + std::min<std::uint64_t>(one.extent.range.size, 64));
    }
  }
}

void IndexedRecords::read_many(std::span<const std::uint64_t> indices, BufferPool& pool,
                               std::span<Record> into, std::span<Status> outcomes) const {
  if (remote_) return fetch_many(indices, pool, into, outcomes);
  std::vector<Wanted> found, wanted;
  find_many(indices, into, outcomes, found);
  if (mapped_) {
    std::vector<bool> whole(shards_.size());  // those that were looked at
    for (const Wanted& each : found) {
      if (!whole[each.found.shard]) *each.outcome = still_whole(each.found);
      whole[each.found.shard] = each.outcome->ok();
      if (each.outcome->ok()) *each.outcome = view_mapped(each.found, *each.into);
      if (!each.outcome->ok()) each.into->clear();
    }
    return;
  }
  // Small keys are sorted instead of what they stand for.
  struct Key {
    std::size_t shard;
    std::uint64_t offset;
    std::size_t at;
  };
  std::vector<Key> keys;
  keys.reserve(found.size());
  for (const Wanted& each : found) {
    const bool alone = each.extent.pieces != 1;  // these come last
    keys.push_back(
        {alone ? shards_.size() : each.found.shard, each.extent.range.offset, keys.size()});
  }
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return std::tie(a.shard, a.offset, a.at) < std::tie(b.shard, b.offset, b.at);
  });
  wanted.reserve(found.size());
  for (const Key& key : keys) wanted.push_back(found[key.at]);

  for (std::size_t first = 0; first < wanted.size();) {
    const Wanted& leader = wanted[first];
    std::size_t count = 1;
    const auto fits = [&](const Wanted& each) {
      return each.extent.pieces == 1 && each.found.shard == leader.found.shard;
    };
    if (fits(leader)) {
      while (first + count < wanted.size() && fits(wanted[first + count])) ++count;
      read_shard(std::span(wanted).subspan(first, count), pool);
    } else {
      read_alone(leader, pool);
    }
    first += count;
  }
}

// Records of one shard, in the order of the file: neighbours become one read, several reads share a
// block of memory, and all are handed over together. What cannot be read in company is tried alone,
// to see which of them fails.
void IndexedRecords::read_shard(std::span<const Wanted> wanted, BufferPool& pool) const {
  std::vector<storage::Range> ranges;
  ranges.reserve(wanted.size());
  for (const Wanted& each : wanted) ranges.push_back(each.extent.range);
  // Between pages that are in memory a call costs as much as this many bytes.
  constexpr storage::MergeLimits limits{.gap = std::uint64_t(4) << 10};
  std::vector<storage::MergedRange> merged;
  storage::merge(ranges, limits, merged);
  struct Group {
    std::span<const Wanted> members;
    std::uint64_t offset = 0;  // in the file
    std::size_t size = 0;      // of the read
    std::size_t at = 0;        // of its bytes in the block; the keys follow
    std::size_t block = 0;
  };
  const auto keys_of = [](const Group& group) {
    std::size_t keys = 0;
    for (const Wanted& each : group.members) keys += each.found.entry.key.size();
    return keys;
  };
  std::vector<Group> groups;
  groups.reserve(merged.size());
  std::vector<Buffer> blocks;  // none for those that there is no memory for
  std::size_t end = 0;         // of the last block, which is not allocated yet
  const auto close_block = [&] {
    Result<Buffer> memory = pool.allocate(std::max<std::size_t>(end, 1));
    blocks.push_back(memory ? *std::move(memory) : Buffer());
    end = 0;
  };
  for (const storage::MergedRange& one : merged) {
    Group group{wanted.subspan(one.first, one.count), one.range.offset, std::size_t(one.range.size),
                0, 0};
    const std::size_t needed = group.size + keys_of(group);
    if (end > 0 && end + needed > limits.size) close_block();
    group.at = (end + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    group.block = blocks.size();
    end = group.at + needed;
    groups.push_back(group);
  }
  close_block();

  // A few at a time: what was read is looked at while it is in the core's cache.
  constexpr std::size_t kFew = 64;
  const auto file = files_.open(wanted[0].found.shard);
  std::vector<storage::Read> reads;
  std::vector<Status> outcomes;
  for (std::size_t first = 0; first < groups.size(); first += kFew) {
    const auto few =
        std::span<const Group>(groups).subspan(first, std::min(kFew, groups.size() - first));
    reads.clear();
    for (const Group& group : few) {
      const Buffer& memory = blocks[group.block];
      if (memory) reads.push_back({group.offset, memory.bytes().subspan(group.at, group.size)});
    }
    outcomes.assign(reads.size(), Status());
    if (file && !reads.empty()) (*file)->read_batch(reads, outcomes);
    std::size_t done = 0;
    for (const Group& group : few) {
      const Buffer& memory = blocks[group.block];
      const bool read = memory && file && outcomes[done].ok();
      done += memory ? 1 : 0;
      const auto place = [&](const Index::Part& part) {
        return group.at + (part.offset - group.offset);
      };
      std::size_t key_at = group.at + group.size;
      for (const Wanted& each : group.members) {
        if (!read) {
          read_alone(each, pool);
          continue;
        }
        const std::string_view key = put_key(each.found.entry.key, memory, key_at);
        *each.outcome = make_fields(each.found, memory, key, place, *each.into);
        if (!each.outcome->ok()) each.into->clear();
        key_at += each.found.entry.key.size();
      }
    }
  }
}

void IndexedRecords::read_alone(const Wanted& wanted, BufferPool& pool) const {
  *wanted.outcome = read_found(wanted.found, wanted.extent, pool, *wanted.into);
  if (!wanted.outcome->ok()) wanted.into->clear();
}

}  // namespace penstock::formats
