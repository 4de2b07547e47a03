#include "formats/index.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "formats/index_layout.h"

namespace penstock::formats {
namespace {

Error damaged(const char* what) {
  return Error(Code::corrupt, std::string("the index is damaged: ") + what +
                                  "; make it anew with: penstock index --refresh");
}

template <class T>
std::span<const T> as(std::span<const std::byte> section) noexcept {
  return {reinterpret_cast<const T*>(section.data()), section.size() / sizeof(T)};
}

Findings findings_of(const layout::Head& head) noexcept {
  const std::uint64_t* n = head.findings;
  return {n[0], n[1], n[2], n[3], n[4], n[5], n[6]};
}

// The sections, or nothing if one lies outside the bytes or does not have the size that it must.
bool find_sections(const layout::Head& head, std::span<const std::byte> bytes,
                   std::span<const std::byte> (&into)[layout::section_count]) noexcept {
  for (std::size_t i = 0; i < layout::section_count; ++i) {
    const layout::Place& place = head.sections[i];
    if (place.offset % 8 != 0 || place.offset > bytes.size()) return false;
    if (place.bytes > bytes.size() - place.offset) return false;
    into[i] = bytes.subspan(std::size_t(place.offset), std::size_t(place.bytes));
  }
  const std::uint64_t most = bytes.size();
  if (head.records > most || head.parts > most) return false;
  const std::uint64_t wide = (head.flags & layout::kWide) != 0 ? 8 : 4;
  const std::uint64_t hashes = (head.flags & layout::kHashes) != 0 ? 8 : 0;
  return into[layout::starts].size() == 8 * head.records &&
         into[layout::firsts].size() == 4 * (head.records + 1) &&
         into[layout::ends].size() == 4 * (head.records + 1) &&
         into[layout::places].size() == wide * head.parts &&
         into[layout::sizes].size() == wide * head.parts &&
         into[layout::numbers].size() == 2 * head.parts &&
         into[layout::hashes].size() == hashes * head.parts &&
         into[layout::bad].size() % sizeof(Index::Bad) == 0;
}

}  // namespace

bool Index::begins_as_one(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= sizeof(layout::kMagic) &&
         std::memcmp(bytes.data(), layout::kMagic, sizeof(layout::kMagic)) == 0;
}

std::uint64_t Index::length_of(std::span<const std::byte> bytes) noexcept {
  layout::Head head;
  if (bytes.size() < sizeof(head)) return 0;
  std::memcpy(&head, bytes.data(), sizeof(head));
  return head.sidecar_bytes;
}

Result<Index> Index::open(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  layout::Head head;
  if (!begins_as_one(bytes)) return damaged("it does not begin as one");
  if (bytes.size() < sizeof(head)) return damaged("it was cut off");
  std::memcpy(&head, bytes.data(), sizeof(head));
  const bool sound = findings_of(head).damaged == 0;
  if (head.version != layout::kVersion && !(head.version == layout::kVersionIfSound && sound)) {
    return Error(Code::unsupported, "the index has version " + std::to_string(head.version) +
                                        ", this Penstock reads version " +
                                        std::to_string(layout::kVersion) +
                                        ": make it anew with: penstock index --refresh");
  }
  if (head.sidecar_bytes != bytes.size()) return damaged("it has another length than it says");
  const std::span<const std::byte> checked = bytes.subspan(layout::kCheckedFrom);
  if (::XXH3_64bits_withSeed(checked.data(), checked.size(), head.flags) != head.checksum) {
    return damaged("the checksum is wrong");
  }
  std::span<const std::byte> sections[layout::section_count];
  if (!find_sections(head, bytes, sections)) return damaged("its parts do not fit");

  Index index;
  index.bytes_ = bytes;
  index.owner_ = std::move(owner);
  index.records_ = head.records;
  index.parts_ = head.parts;
  index.payload_bytes_ = head.payload_bytes;
  index.largest_ = head.largest;
  index.digest_ = head.digest;
  index.stamp_ = {head.file_bytes, head.file_mtime};
  index.findings_ = findings_of(head);
  index.wide_ = (head.flags & layout::kWide) != 0;
  index.starts_ = as<std::uint64_t>(sections[layout::starts]);
  index.firsts_ = as<std::uint32_t>(sections[layout::firsts]);
  index.ends_ = as<std::uint32_t>(sections[layout::ends]);
  index.keys_ = sections[layout::keys];
  index.places_ = sections[layout::places];
  index.sizes_ = sections[layout::sizes];
  index.numbers_ = as<std::uint16_t>(sections[layout::numbers]);
  index.hashes_ = as<std::uint64_t>(sections[layout::hashes]);
  index.bad_ = as<Bad>(sections[layout::bad]);
  std::string_view names(reinterpret_cast<const char*>(sections[layout::fields].data()),
                         sections[layout::fields].size());
  while (!names.empty()) {
    const std::size_t end = names.find('\0');
    if (end == std::string_view::npos) return damaged("a field has no name");
    index.fields_.push_back(names.substr(0, end));
    names.remove_prefix(end + 1);
  }
  index.look_whether_plain();
  return index;
}

void Index::look_whether_plain() noexcept {
  if (records_ == 0 || parts_ != records_ || !keys_.empty() || fields_.size() != 1) return;
  plain_place_ = number(places_, 0);
  plain_ = true;
  for (std::size_t k = 0; k < records_ && plain_; ++k) {
    plain_ =
        firsts_[k] == k && ends_[k] == 0 && numbers_[k] == 0 && number(places_, k) == plain_place_;
  }
  plain_ =
      plain_ && firsts_[std::size_t(records_)] == records_ && ends_[std::size_t(records_)] == 0;
}

bool Index::entry(std::uint64_t i, Entry& into) const noexcept {
  if (plain_) {
    into = {{}, i, 1};
    return true;
  }
  const auto k = std::size_t(i);
  const std::uint32_t first = firsts_[k], behind = firsts_[k + 1];
  const std::uint32_t start = ends_[k], end = ends_[k + 1];
  if (first > behind || behind > parts_ || start > end || end > keys_.size()) return false;
  into.key = {reinterpret_cast<const char*>(keys_.data()) + start, end - start};
  into.first = first;
  into.count = behind - first;
  return true;
}

std::uint64_t Index::number(std::span<const std::byte> section, std::uint64_t i) const noexcept {
  const auto k = std::size_t(i);
  return wide_ ? as<std::uint64_t>(section)[k] : as<std::uint32_t>(section)[k];
}

bool Index::part(std::uint64_t i, std::uint64_t p, Part& into) const noexcept {
  const std::uint64_t start = starts_[std::size_t(i)];
  const std::uint64_t place = plain_ ? plain_place_ : number(places_, p);
  into.size = number(sizes_, p);
  into.field = plain_ ? std::uint16_t(0) : numbers_[std::size_t(p)];
  if (into.field >= fields_.size() || start > stamp_.size) return false;
  if (place > stamp_.size - start || into.size > stamp_.size - start - place) return false;
  into.offset = start + place;
  return true;
}

void Index::fetch_entry(std::uint64_t i) const noexcept {
  const auto k = std::size_t(i);
  __builtin_prefetch(&starts_[k]);
  if (plain_) return;
  __builtin_prefetch(&firsts_[k]);
  __builtin_prefetch(&ends_[k]);
}

void Index::fetch_parts(std::uint64_t i) const noexcept {
  const std::size_t part = plain_ ? std::size_t(i) : firsts_[std::size_t(i)];
  if (part >= parts_) return;
  const std::size_t width = wide_ ? 8 : 4;
  __builtin_prefetch(&sizes_[part * width]);
  if (plain_) return;
  __builtin_prefetch(&places_[part * width]);
  __builtin_prefetch(&numbers_[part]);
  if (const std::size_t key = ends_[std::size_t(i)]; key < keys_.size()) {
    __builtin_prefetch(&keys_[key]);
  }
}

const Index::Bad* Index::bad(std::uint64_t i) const noexcept {
  if (bad_.empty()) [[likely]]
    return nullptr;
  const auto found = std::lower_bound(
      bad_.begin(), bad_.end(), i, [](const Bad& bad, std::uint64_t n) { return bad.record < n; });
  return found != bad_.end() && found->record == i ? &*found : nullptr;
}

}  // namespace penstock::formats
