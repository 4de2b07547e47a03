#include "formats/tar/scanner.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "formats/tar/pax.h"

namespace penstock::formats::tar {
namespace {

constexpr std::uint64_t kLargestExtension = 1 << 20;  // long names and pax records
constexpr std::uint64_t kFarthestLook = 8 << 20;      // how far a damaged size is followed
constexpr std::uint64_t kSearchStep = 64 << 10;       // bytes looked through at a time

Block as_block(std::span<const std::byte> bytes) noexcept {
  return bytes.first<kBlock>();
}

}  // namespace

Result<Scanner::Event> Scanner::next() {
  if (lost_) {
    lost_ = false;
    const Result<bool> found = find_header(position_, true);
    if (!found) return found.error();
    ended_ = !*found;
  }
  while (!ended_) {
    const Result<bool> reported = step();
    if (!reported) return reported.error();
    if (*reported) return event_;
  }
  return Event::end;
}

Result<bool> Scanner::step() {
  const auto bytes = window_->at(position_, kBlock);
  if (!bytes) return bytes.error();
  if (bytes->size() < kBlock) return on_end(*bytes);
  const Block block = as_block(*bytes);
  if (is_zero(block)) return on_zeros();
  Header header;
  return parse_header(block, false, header) ? on_header(block, header) : on_damage(block);
}

bool Scanner::on_end(std::span<const std::byte> rest) {
  ended_ = true;
  ++findings_.without_end;
  const bool ragged = !rest.empty() || window_->size().value_or(0) % kBlock != 0;
  damage_.name.clear();
  return (ragged || extension_.any) && report(position_);
}

bool Scanner::report(std::uint64_t offset) {
  damage_.offset = offset;
  if (extension_.has_path) damage_.name = extension_.path;
  extension_ = {};
  ++findings_.damaged;
  event_ = Event::damage;
  return true;
}

void Scanner::cut_here() noexcept {
  if (!cut_) ++findings_.cut;
  cut_ = ended_ = true;
}

Result<bool> Scanner::on_header(Block block, const Header& header) {
  switch (header.type) {
    case Type::file:
      return on_member(block, header);
    case Type::long_name:
    case Type::long_link:
    case Type::pax:
    case Type::pax_global:
      return on_extension(block, header);
    case Type::sparse:
      if (header.sparse_continues) {
        if (const Status status = skip_sparse_blocks(); !status) return status.error();
      }
      pass(findings_.sparse, header);
      return false;
    case Type::other:
    case Type::unknown:
      pass(findings_.not_files, header);
      return false;
  }
  return false;
}

bool Scanner::on_member(Block block, const Header& header) {
  if (extension_.sparse) {
    pass(findings_.sparse, header);
    return false;
  }
  if (extension_.any) [[unlikely]] {
    const Extension extension = std::exchange(extension_, {});
    member_.header = extension.start;
    member_.size = extension.has_size ? extension.size : header.size;
    member_.name = extension.path;
    if (!extension.has_path) name_of(block, member_.name);
  } else {
    member_.header = position_;
    member_.size = header.size;
    name_of(block, member_.name);
  }
  member_.payload = position_ + kBlock;
  position_ = member_.payload + padded(member_.size);
  if (const auto size = window_->size(); size && member_.payload + member_.size > *size) cut_here();
  event_ = Event::member;
  return true;
}

// Goes on behind something that is not read.
void Scanner::pass(std::uint64_t& count, const Header& header) {
  const Extension extension = std::exchange(extension_, {});
  const bool sized = extension.has_size && header.type != Type::other;
  position_ += kBlock + padded(sized ? extension.size : header.size);
  ++count;
}

Status Scanner::skip_sparse_blocks() {
  bool more = true;
  while (more) {
    const auto bytes = window_->at(position_ + kBlock, kBlock);
    if (!bytes) return bytes.error();
    if (bytes->size() < kBlock) break;
    more = (*bytes)[504] != std::byte(0);
    position_ += kBlock;
  }
  return {};
}

Result<bool> Scanner::on_extension(Block block, const Header& header) {
  if (header.type != Type::pax_global && !std::exchange(extension_.any, true)) {
    extension_.start = position_;
  }
  name_of(block, damage_.name);
  const Result<bool> understood = read_extension(header);
  if (!understood) return understood.error();
  if (*understood) {
    position_ += kBlock + padded(header.size);
    return false;
  }
  lost_ = true;
  position_ += kBlock;
  return report(position_ - kBlock);
}

// A long name or pax records. False if it is nonsense.
Result<bool> Scanner::read_extension(const Header& header) {
  if (header.size > kLargestExtension) return false;
  const auto bytes = window_->at(position_ + kBlock, std::size_t(header.size));
  if (!bytes) return bytes.error();
  if (bytes->size() < header.size) return false;
  std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  if (header.type == Type::long_name) {
    extension_.path = text.substr(0, text.find('\0'));
    extension_.has_path = true;
  }
  if (header.type != Type::pax) return true;
  PaxRecord record;
  while (!text.empty() && text[0] != '\0') {
    if (!take_pax_record(text, record)) return false;
    if (record.key == "path") {
      extension_.path = record.value;
      extension_.has_path = true;
    } else if (record.key == "size") {
      if (!parse_decimal(record.value, extension_.size)) return false;
      extension_.has_size = true;
    } else if (record.key.starts_with("GNU.sparse.")) {
      extension_.sparse = true;
    }
  }
  return true;
}

// Zeros end a tar. But another tar may follow, and zeros may have been written over a header.
Result<bool> Scanner::on_zeros() {
  const std::uint64_t start = position_;
  damage_.name.clear();
  for (;; position_ += kBlock) {
    if ((position_ - start) % kSearchStep == 0) window_->pass_over(start, position_);
    const auto bytes = window_->at(position_, kBlock);
    if (!bytes) return bytes.error();
    if (bytes->size() < kBlock) {
      ended_ = true;
      return extension_.any && report(start);
    }
    if (!is_zero(as_block(*bytes))) break;
  }
  const bool end_mark = position_ - start >= 2 * kBlock && !extension_.any;
  if (!end_mark) {
    lost_ = true;
    return report(start);
  }
  const std::uint64_t behind = position_;
  const Result<bool> found = find_header(behind, false);
  if (!found) return found.error();
  if (!*found) ended_ = true;  // what follows an end mark and is no tar is not ours
  return *found && position_ != behind && report(start);
}

Result<bool> Scanner::on_damage(Block block) {
  const std::uint64_t start = position_;
  const auto type = char(block[156]);
  const bool names_the_next = type == 'x' || type == 'L' || type == 'K';
  name_of(block, damage_.name);
  position_ = start + kBlock;
  lost_ = true;

  std::uint64_t size;
  if (!parse_size(block, size) || size > kFarthestLook) return report(start);
  // All of it at once: what is passed over cannot be searched any more.
  const auto look = window_->at(start, std::size_t(kBlock + padded(size) + kBlock));
  if (!look) return look.error();
  const std::size_t behind = std::size_t(kBlock + padded(size));
  if (!names_the_next && !holds_a_tar(look->first(std::min(behind, look->size())))) {
    return report(start);
  }
  Header header;
  if (look->size() < behind + kBlock) return report(start);
  const Block next = as_block(look->subspan(behind));
  if (!is_zero(next) && !parse_header(next, false, header)) return report(start);
  position_ = start + behind;
  lost_ = false;
  if (names_the_next && !is_zero(next)) {  // the next member's name is lost, and so is the member
    name_of(next, damage_.name);
    position_ += kBlock + padded(header.size);
  }
  return report(start);
}

// A damaged member that is a tar itself must be passed over as a whole, or its members would be
// taken for ours: its headers lead to an end mark inside it.
bool Scanner::holds_a_tar(std::span<const std::byte> member) noexcept {
  std::uint64_t offset = kBlock;
  while (offset + kBlock <= member.size()) {
    const Block block = as_block(member.subspan(std::size_t(offset)));
    if (is_zero(block)) return offset > kBlock;
    Header header;
    if (!parse_header(block, true, header)) return false;
    offset += kBlock + padded(header.size);
  }
  return false;
}

// Goes to the first good header from `from` on, which is at a distance of whole blocks; or to one
// that is damaged, but can be told by its magic. False, and nothing moves, if there is none.
Result<bool> Scanner::find_header(std::uint64_t from, bool damaged_too) {
  for (std::uint64_t offset = from;; offset += kSearchStep) {
    window_->pass_over(from, offset);
    const auto bytes = window_->at(offset, kSearchStep);
    if (!bytes) return bytes.error();
    for (std::size_t i = 0; i + kBlock <= bytes->size(); i += kBlock) {
      const Block block = as_block(bytes->subspan(i));
      Header header;
      if (parse_header(block, true, header) || (damaged_too && has_magic(block))) {
        position_ = offset + i;
        return true;
      }
    }
    if (bytes->size() < kSearchStep) return false;
  }
}

}  // namespace penstock::formats::tar
