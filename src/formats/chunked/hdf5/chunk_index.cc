#include "formats/chunked/hdf5/chunk_index.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "storage/ranges.h"

namespace penstock::formats::hdf5 {
namespace {

constexpr std::uint64_t kNowhere = Dataset::kNowhere;
constexpr std::size_t kMostHeaderBytes = std::size_t(16) << 20;

Error damaged(const std::string& what, const storage::Source& source, std::uint64_t offset) {
  return Error(Code::corrupt, "the HDF5 file is damaged: " + what)
      .in_file(source.name())
      .at_offset(std::int64_t(offset));
}

using Bytes = std::vector<std::byte>;

Result<Bytes> bytes_at(const storage::Source& source, std::uint64_t offset, std::uint64_t size) {
  if (offset > source.size() || size > source.size() - offset || size > kMostHeaderBytes) {
    return damaged("something lies outside it; was it cut off?", source, offset);
  }
  Bytes bytes{std::size_t(size)};
  if (Status status = source.read(offset, bytes); !status) return std::move(status).error();
  return bytes;
}

// Little-endian numbers, one after the other. What is not there is 0, and ok() is false.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  std::uint64_t number(std::size_t bytes) {
    if (rest_.size() < bytes) {
      ok_ = false;
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) value = value << 8 | std::uint64_t(rest_[i]);
    rest_ = rest_.subspan(bytes);
    return value;
  }
  std::span<const std::byte> take(std::size_t bytes) {
    ok_ = ok_ && bytes <= rest_.size();
    const std::span<const std::byte> taken = rest_.first(std::min(bytes, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  std::size_t left() const noexcept { return rest_.size(); }
  bool ok() const noexcept { return ok_; }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

bool begins(std::span<const std::byte> bytes, std::string_view mark) {
  return bytes.size() >= mark.size() && std::memcmp(bytes.data(), mark.data(), mark.size()) == 0;
}

// The messages of an object header, of which one says how the data is laid out.
class ObjectHeader {
 public:
  explicit ObjectHeader(const storage::Source& source) : source_(source) {}

  // The bytes of the layout message; nothing if there is none.
  Result<std::optional<Bytes>> layout(std::uint64_t address) {
    const Result<Bytes> start = bytes_at(source_, address, 16);
    if (!start) return start.error();
    if (begins(*start, "OHDR")) {
      if (Status status = open_new(address, *start); !status) return std::move(status).error();
    } else if ((*start)[0] == std::byte(1)) {
      Reader reader{std::span<const std::byte>(*start).subspan(8)};
      blocks_.push_back({address + 16, reader.number(4)});
    } else {
      return damaged("a dataset's header is wrong", source_, address);
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_.size() > 10'000) return damaged("a header has no end", source_, address);
      Status status = read_block(blocks_[i].first, blocks_[i].second);
      if (!status) return std::move(status).error();
      if (layout_) break;
    }
    return std::move(layout_);
  }

 private:
  Status open_new(std::uint64_t address, const Bytes& start) {
    new_style_ = true;
    const auto flags = std::uint8_t(start[5]);
    tracked_ = (flags & 4) != 0;
    const std::uint64_t times = (flags & 32) != 0 ? 16 : 0, phases = (flags & 16) != 0 ? 4 : 0;
    const std::size_t width = std::size_t(1) << (flags & 3);
    const std::uint64_t at = address + 6 + times + phases;
    const Result<Bytes> size = bytes_at(source_, at, width);
    if (!size) return size.error();
    blocks_.push_back({at + width, Reader(*size).number(width)});
    return {};
  }

  Status read_block(std::uint64_t address, std::uint64_t size) {
    const Result<Bytes> bytes = bytes_at(source_, address, size);
    if (!bytes) return bytes.error();
    Reader reader(*bytes);
    const std::size_t prefix = new_style_ ? (tracked_ ? 6 : 4) : 8;
    while (reader.left() >= prefix) {
      const std::uint64_t type = reader.number(new_style_ ? 1 : 2), length = reader.number(2);
      reader.take(prefix - (new_style_ ? 3 : 4));
      const std::span<const std::byte> data = reader.take(std::size_t(length));
      if (!reader.ok())
        return new_style_ ? Status() : damaged("a header ends early", source_, address);
      constexpr std::uint64_t kLayout = 8, kContinued = 16;
      if (type == kLayout && !layout_) layout_.emplace(data.begin(), data.end());
      if (type != kContinued) continue;
      Reader where(data);
      const std::uint64_t offset = where.number(8), more = where.number(8);
      if (!where.ok()) return damaged("a header is wrong", source_, address);
      // New blocks have a mark in front and a checksum behind.
      if (!new_style_) blocks_.push_back({offset, more});
      if (new_style_ && more >= 8) blocks_.push_back({offset + 4, more - 8});
    }
    return {};
  }

  const storage::Source& source_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> blocks_;  // (offset, size)
  std::optional<Bytes> layout_;
  bool new_style_ = false, tracked_ = false;
};

class Tree {
 public:
  Tree(const storage::Source& source, const std::vector<std::uint64_t>& shape,
       const std::vector<std::uint64_t>& chunk)
      : source_(source), shape_(shape), chunk_(chunk) {}

  // Level by level: all nodes of one are asked for together, so that a file from afar takes few
  // rounds.
  Result<std::vector<ChunkPlace>> read(std::uint64_t root) {
    std::vector<std::uint64_t> nodes, below;
    if (root != kNowhere) nodes.push_back(root);
    for (int level = kAnyLevel; !nodes.empty(); nodes.swap(below)) {
      below.clear();
      for (std::size_t first = 0; first < nodes.size(); first += kTogether) {
        const auto some = std::span<const std::uint64_t>(nodes).subspan(first);
        Status status = read_nodes(some.first(std::min(some.size(), kTogether)), level, below);
        if (!status) return std::move(status).error();
      }
      level = level_ - 1;
    }
    std::sort(places_.begin(), places_.end(),
              [](const ChunkPlace& a, const ChunkPlace& b) { return a.number < b.number; });
    for (std::size_t i = 1; i < places_.size(); ++i) {
      if (places_[i].number == places_[i - 1].number) {
        return damaged("a chunk is there twice", source_, places_[i].offset);
      }
    }
    return std::move(places_);
  }

 private:
  static constexpr std::size_t kTogether = 1024;
  static constexpr int kAnyLevel = -1;  // for the root

  // `level` is what they must have. Their children are added to `below`.
  Status read_nodes(std::span<const std::uint64_t> addresses, int level,
                    std::vector<std::uint64_t>& below) {
    constexpr std::uint64_t kUsual = 64;  // children that a node has room for, if nobody says more
    std::vector<Bytes> nodes;
    std::vector<storage::Read> reads;
    for (const std::uint64_t address : addresses) {
      if (address > source_.size() || source_.size() - address < kHead) {
        return damaged("something lies outside it; was it cut off?", source_, address);
      }
      const std::uint64_t size = std::min(source_.size() - address, kHead + kUsual * child_bytes());
      nodes.emplace_back(std::size_t(size));
      reads.push_back({address, nodes.back()});
    }
    std::vector<Status> outcomes(reads.size());
    storage::read_merged(source_, reads, outcomes);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (!outcomes[i].ok()) return std::move(outcomes[i]);
      Status status = node(addresses[i], nodes[i], level, below);
      if (!status) return status;
    }
    return {};
  }

  // `bytes` are the first of the node.
  Status node(std::uint64_t address, const Bytes& bytes, int level,
              std::vector<std::uint64_t>& below) {
    Reader head{std::span<const std::byte>(bytes).subspan(4)};
    const std::uint64_t type = head.number(1), own_level = head.number(1), count = head.number(2);
    if (!begins(bytes, "TREE") || type != 1 || own_level > 32 ||
        (level != kAnyLevel && own_level != std::uint64_t(level))) {
      return damaged("its index of chunks is wrong", source_, address);
    }
    level_ = int(own_level);
    if (bytes.size() - kHead >= count * child_bytes()) {
      return children(address, std::span(bytes).subspan(kHead), count, below);
    }
    const Result<Bytes> all = bytes_at(source_, address + kHead, count * child_bytes());
    if (!all) return all.error();
    return children(address, *all, count, below);
  }

  Status children(std::uint64_t address, std::span<const std::byte> bytes, std::uint64_t count,
                  std::vector<std::uint64_t>& below) {
    Reader reader(bytes);
    for (std::uint64_t i = 0; i < count; ++i) {
      ChunkPlace place;
      place.size = reader.number(4);
      place.skipped = std::uint32_t(reader.number(4));
      bool inside = true;  // of the array as it is now: it may have been larger
      for (std::size_t d = 0; d < shape_.size(); ++d) {
        const std::uint64_t first = reader.number(8);
        if (first % chunk_[d] != 0) return damaged("a chunk is misplaced", source_, address);
        inside = inside && first < shape_[d];
        const std::uint64_t cells = (shape_[d] + chunk_[d] - 1) / chunk_[d];
        place.number = place.number * cells + first / chunk_[d];
      }
      reader.number(8);
      place.offset = reader.number(8);
      if (level_ > 0) {
        if (++nodes_ > source_.size() / kHead)
          return damaged("its index goes round", source_, address);
        below.push_back(place.offset);
        continue;
      }
      if (place.offset > source_.size() || place.size > source_.size() - place.offset) {
        return damaged("a chunk lies outside it; was it cut off?", source_, address);
      }
      if (inside) places_.push_back(place);
    }
    return {};
  }

  // Of a node: the part before its children, and what each takes.
  static constexpr std::uint64_t kHead = 24;
  std::uint64_t child_bytes() const noexcept { return 8 + 8 * (shape_.size() + 1) + 8; }

  const storage::Source& source_;
  const std::vector<std::uint64_t>&shape_, &chunk_;
  std::vector<ChunkPlace> places_;
  std::uint64_t nodes_ = 0;
  int level_ = kAnyLevel;  // of the nodes that were read last
};

}  // namespace

Result<std::optional<std::vector<ChunkPlace>>> read_chunk_index(
    const storage::Source& source, std::uint64_t header, const std::vector<std::uint64_t>& shape,
    const std::vector<std::uint64_t>& chunk) {
  const Result<std::optional<Bytes>> layout = ObjectHeader(source).layout(header);
  if (!layout) return layout.error();
  if (!*layout) return std::optional<std::vector<ChunkPlace>>();
  Reader reader(**layout);
  const std::uint64_t version = reader.number(1), kind = reader.number(1),
                      dimensions = reader.number(1), root = reader.number(8);
  if (!reader.ok() || version != 3 || kind != 2) return std::optional<std::vector<ChunkPlace>>();
  if (dimensions != shape.size() + 1 || chunk.size() != shape.size() ||
      std::find(chunk.begin(), chunk.end(), 0) != chunk.end()) {
    return damaged("its chunks have another number of dimensions than it has", source, header);
  }
  Result<std::vector<ChunkPlace>> places = Tree(source, shape, chunk).read(root);
  if (!places) return std::move(places).error();
  return std::optional(*std::move(places));
}

}  // namespace penstock::formats::hdf5
