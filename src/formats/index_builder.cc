#include "formats/index_builder.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "formats/index_layout.h"

namespace penstock::formats {
namespace {

constexpr std::uint64_t kMost32 = std::numeric_limits<std::uint32_t>::max();

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) noexcept {
  return std::as_bytes(std::span(values));
}

std::vector<std::uint32_t> narrowed(const std::vector<std::uint64_t>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

void IndexBuilder::begin(std::string_view key, std::uint64_t start) {
  starts_.push_back(start);
  keys_ += key;
  if (keys_.size() > kMost32) overflow_ = true;
  ends_.push_back(std::uint32_t(keys_.size()));
  firsts_.push_back(firsts_.back());
  largest_ = std::max<std::uint64_t>(largest_, key.size());
}

void IndexBuilder::part(std::uint16_t field, std::uint64_t offset, std::uint64_t size,
                        std::uint64_t hash) {
  places_.push_back(offset - starts_.back());
  sizes_.push_back(size);
  numbers_.push_back(field);
  if (hashes_wanted_) hashes_.push_back(hash);
  if (places_.size() > kMost32) overflow_ = true;
  firsts_.back() = std::uint32_t(places_.size());
  payload_ += size;
  const std::uint64_t key_size = ends_.back() - ends_[ends_.size() - 2];
  largest_ = std::max(largest_, offset + size - starts_.back() + key_size);
}

void IndexBuilder::spoil(std::uint64_t trouble, std::uint64_t offset) {
  bad_.push_back({records() - 1, trouble, offset});
}

std::string_view IndexBuilder::key(std::uint64_t record) const noexcept {
  return std::string_view(keys_).substr(ends_[record], ends_[record + 1] - ends_[record]);
}

std::vector<std::uint64_t> IndexBuilder::repeated_keys() const {
  struct Hashed {
    std::uint64_t hash, record;
  };
  std::vector<Hashed> all;
  all.reserve(records());
  for (std::uint64_t i = 0; i < records(); ++i) {
    if (!bad_.empty() && firsts_[i] == firsts_[i + 1]) continue;  // stands for a lost one
    all.push_back({::XXH3_64bits(key(i).data(), key(i).size()), i});
  }
  std::sort(all.begin(), all.end(), [](const Hashed& a, const Hashed& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.record < b.record;
  });
  std::vector<std::uint64_t> repeated;
  for (std::size_t i = 1; i < all.size(); ++i) {
    for (std::size_t j = i; j > 0 && all[j - 1].hash == all[i].hash; --j) {
      if (key(all[j - 1].record) == key(all[i].record)) {
        repeated.push_back(all[i].record);
        break;
      }
    }
  }
  std::sort(repeated.begin(), repeated.end());
  return repeated;
}

Result<Index> IndexBuilder::finish(const Extra& extra) const {
  if (overflow_) {
    return Error(Code::unsupported,
                 "more than 4 billion parts or bytes of keys in one file: split it into shards");
  }
  const auto most = [](const std::vector<std::uint64_t>& v) {
    return v.empty() ? 0 : *std::max_element(v.begin(), v.end());
  };
  const bool wide = std::max(most(places_), most(sizes_)) > kMost32;
  std::string names;
  for (const std::string& field : extra.fields) names.append(field).push_back('\0');
  std::vector<Index::Bad> bad = bad_;
  bad.insert(bad.end(), extra.bad.begin(), extra.bad.end());
  std::stable_sort(bad.begin(), bad.end(),
                   [](const Index::Bad& a, const Index::Bad& b) { return a.record < b.record; });
  const std::vector<std::uint32_t> places32 =
      wide ? std::vector<std::uint32_t>() : narrowed(places_);
  const std::vector<std::uint32_t> sizes32 = wide ? std::vector<std::uint32_t>() : narrowed(sizes_);

  std::span<const std::byte> sections[layout::section_count];
  sections[layout::fields] = std::as_bytes(std::span(names));
  sections[layout::starts] = bytes_of(starts_);
  sections[layout::firsts] = bytes_of(firsts_);
  sections[layout::ends] = bytes_of(ends_);
  sections[layout::keys] = std::as_bytes(std::span(keys_));
  sections[layout::places] = wide ? bytes_of(places_) : bytes_of(places32);
  sections[layout::sizes] = wide ? bytes_of(sizes_) : bytes_of(sizes32);
  sections[layout::numbers] = bytes_of(numbers_);
  sections[layout::hashes] = bytes_of(hashes_);
  sections[layout::bad] = bytes_of(bad);

  layout::Head head{};
  std::memcpy(head.magic, layout::kMagic, sizeof(head.magic));
  head.version = layout::kVersion;
  head.flags = (hashes_wanted_ ? layout::kHashes : 0) | (wide ? layout::kWide : 0);
  head.file_bytes = extra.stamp.size;
  head.file_mtime = extra.stamp.mtime;
  head.records = records();
  head.parts = places_.size();
  head.payload_bytes = payload_;
  head.largest = largest_;
  const std::span<const std::byte> ends = bytes_of(ends_);
  head.digest =
      ::XXH3_64bits_withSeed(keys_.data(), keys_.size(), ::XXH3_64bits(ends.data(), ends.size()));
  const Findings& found = extra.findings;
  const std::uint64_t findings[] = {found.not_files,  found.sparse, found.unnamed,    found.damaged,
                                    found.duplicates, found.cut,    found.without_end};
  static_assert(sizeof(findings) == sizeof(head.findings));
  std::memcpy(head.findings, findings, sizeof(findings));

  std::uint64_t size = sizeof(head);
  for (std::size_t i = 0; i < layout::section_count; ++i) {
    head.sections[i] = {size, sections[i].size()};
    size += (sections[i].size() + 7) / 8 * 8;
  }
  head.sidecar_bytes = size;
  auto memory = std::make_shared<std::vector<std::uint64_t>>(size / 8);  // aligned, and zero
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(*memory));
  for (std::size_t i = 0; i < layout::section_count; ++i) {
    if (sections[i].empty()) continue;
    std::memcpy(bytes.data() + head.sections[i].offset, sections[i].data(), sections[i].size());
  }
  std::memcpy(bytes.data(), &head, sizeof(head));
  head.checksum = ::XXH3_64bits_withSeed(bytes.data() + layout::kCheckedFrom,
                                         size - layout::kCheckedFrom, head.flags);
  std::memcpy(bytes.data(), &head, sizeof(head));
  return Index::open(bytes, memory);
}

}  // namespace penstock::formats
