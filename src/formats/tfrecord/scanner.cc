#include "formats/tfrecord/scanner.h"

namespace penstock::formats::tfrecord {
namespace {

constexpr std::uint64_t kLongest = std::uint64_t(1) << 60;       // no file holds a longer record
constexpr std::uint64_t kLongestFound = std::uint64_t(1) << 30;  // behind damage: it is read whole
constexpr std::size_t kStep = std::size_t(64) << 10;

}  // namespace

Result<Scanner::Event> Scanner::next() {
  if (ended_) return Event::end;
  start_ = position_;
  const auto header = window_->at(start_, kHeaderBytes);
  if (!header) return header.error();
  if (header->size() < kHeaderBytes) {
    ended_ = true;
    position_ = start_ + header->size();
    return header->empty() ? Event::end : Event::cut;
  }
  const std::optional<std::uint64_t> length = length_of(header->data());
  if (!length) return search(Event::damage);
  const std::optional<std::uint64_t> whole = window_->size();
  const std::uint64_t most = whole ? *whole - start_ : kLongest;
  if (*length > most || *length + kHeaderBytes + kFooterBytes > most) return search(Event::cut);
  size_ = *length;
  position_ = start_ + kHeaderBytes + size_ + kFooterBytes;
  return Event::record;
}

Result<Scanner::Event> Scanner::search(Event without) {
  for (std::uint64_t offset = start_ + 1;; ++offset) {
    window_->keep_from(offset);
    const auto bytes = window_->at(offset, kStep);
    if (!bytes) return bytes.error();
    if (bytes->size() < kHeaderBytes) {
      ended_ = true;
      position_ = offset + bytes->size();
      return without;
    }
    const std::size_t tries = bytes->size() - kHeaderBytes + 1;
    std::size_t i = 0;
    std::optional<std::uint64_t> length;
    while (i < tries && !(length = length_of(bytes->data() + i))) ++i;
    offset += i;
    if (i == tries) {
      --offset;
      continue;
    }
    const Result<bool> found = begins_at(offset, *length);
    if (!found) return found.error();
    if (!*found) continue;
    position_ = offset;
    return Event::damage;
  }
}

Result<bool> Scanner::begins_at(std::uint64_t offset, std::uint64_t length) {
  if (length > kLongestFound) return false;
  window_->keep_from(offset);
  const auto size = std::size_t(length) + kFooterBytes;
  const std::optional<std::uint64_t> whole = window_->size();
  if (whole && offset + kHeaderBytes + size > *whole) return false;
  const auto bytes = window_->at(offset, kHeaderBytes + size);
  if (!bytes) return bytes.error();
  if (bytes->size() < kHeaderBytes + size) return false;
  return is_sound(bytes->subspan(kHeaderBytes, std::size_t(length)), bytes->last(kFooterBytes));
}

}  // namespace penstock::formats::tfrecord
