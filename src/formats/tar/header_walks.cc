#include "formats/tar/header_walks.h"

#include <algorithm>
#include <array>
#include <optional>
#include <system_error>

#include "formats/tar/header.h"
#include "storage/file.h"

namespace penstock::formats::tar {
namespace {

constexpr std::uint64_t kNear = 8 << 10;   // headers nearer than this are read with the rest
constexpr std::uint64_t kMost = 32 << 10;  // headers of a walk: a page of memory is kept for each
constexpr std::uint64_t kFarthest = 16 << 20;  // how far the first header is looked for
constexpr std::size_t kStep = std::size_t(64) << 10;

// Offsets of headers between `first` and `end`, one after the other.
class Walk {
 public:
  Walk(const storage::Source& file, std::uint64_t first, std::uint64_t end)
      : file_(file), first_(first), end_(end) {}

  void run(std::uint64_t farthest, const std::atomic<bool>& ended) const {
    std::optional<std::uint64_t> at = find(farthest, ended);
    std::array<std::byte, kBlock> block;
    while (at && *at < end_ && !ended) {
      Header header;
      if (!file_.read(*at, block).ok() || !parse_header(block, false, header)) return;
      if (header.sparse_continues) return;
      *at += kBlock + (header.type == Type::other ? 0 : padded(header.size));
    }
  }

 private:
  std::optional<std::uint64_t> find(std::uint64_t farthest, const std::atomic<bool>& ended) const {
    std::vector<std::byte> bytes(kStep);
    const std::uint64_t last = std::min(end_, first_ + farthest);
    for (std::uint64_t at = first_; at < last && !ended; at += kStep) {
      const auto size = std::size_t(std::min<std::uint64_t>(kStep, file_.size() - at));
      if (!file_.read(at, std::span(bytes).first(size)).ok()) return std::nullopt;
      for (std::size_t k = 0; k + kBlock <= size; k += kBlock) {
        Header header;
        if (parse_header(std::span(bytes).subspan(k).first<kBlock>(), true, header)) return at + k;
      }
    }
    return std::nullopt;
  }

  const storage::Source& file_;
  std::uint64_t first_, end_;
};

}  // namespace

HeaderWalks::HeaderWalks(const storage::Stream& stream, std::size_t walks)
    : name_(stream.name()), walks_(walks) {
  if (storage::is_url(name_) || !stream.size()) walks_ = 0;
  size_ = stream.size().value_or(0);
  blocks_ = storage::blocks_read();
}

void HeaderWalks::look(std::uint64_t position) {
  if (walks_ == 0) return;
  constexpr long kPage = 4096 / 512;
  const long blocks = storage::blocks_read();
  const bool waiting = blocks - blocks_ >= long(kLook) / 2 * kPage;
  const std::uint64_t apart = (position - std::min(position, last_)) / kLook;
  blocks_ = blocks;
  last_ = position;
  if (waiting && apart >= kNear && position >= until_) begin(position, apart);
}

void HeaderWalks::begin(std::uint64_t position, std::uint64_t apart) {
  end();
  if (walks_ == 0 || position >= size_ || (size_ - position) / apart < 2 * kLook) return;
  Result<std::shared_ptr<const storage::File>> opened = storage::File::open(name_);
  if (!opened || (*opened)->size() != size_) return;
  // The scanner itself goes the first part of the way.
  const std::uint64_t part = std::min((size_ - position) / (walks_ + 1), kMost * apart);
  const std::uint64_t farthest = std::min(4 * apart + (std::uint64_t(1) << 20), kFarthest);
  until_ = position + part * (walks_ + 1);
  for (std::uint64_t k = 1; k <= walks_; ++k) {
    const std::uint64_t first = (position + k * part) / kBlock * kBlock;
    try {
      threads_.emplace_back([this, file = *opened, first, part, farthest] {
        Walk(*file, first, first + part).run(farthest, ended_);
      });
    } catch (const std::system_error&) {
      break;  // without threads it takes longer
    }
    ++begun_;
  }
}

void HeaderWalks::end() {
  ended_ = true;
  threads_.clear();
  ended_ = false;
}

}  // namespace penstock::formats::tar
