#include "formats/chunked/hdf5/chunk_index.h"

#include <algorithm>
#include <bit>

#include "formats/chunked/hdf5/chunk_table.h"
#include "formats/chunked/hdf5/index_file.h"
#include "formats/chunked/hdf5/new_indexes.h"

namespace penstock::formats::hdf5 {
namespace {

// The messages of an object header, of which one says how the data is laid out.
class ObjectHeader {
 public:
  explicit ObjectHeader(const IndexFile& file) : file_(file) {}

  // The bytes of the layout message; nothing if there is none.
  Result<std::optional<Bytes>> layout(std::uint64_t address) {
    const Result<Bytes> start = file_.read(address, 16);
    if (!start) return start.error();
    if (begins(*start, "OHDR")) {
      if (Status status = open_new(address, *start); !status) return std::move(status).error();
    } else if ((*start)[0] == std::byte(1)) {
      Reader reader{std::span<const std::byte>(*start).subspan(8)};
      blocks_.push_back({address + 16, reader.number(4)});
    } else {
      return file_.damaged("a dataset's header is wrong", address);
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_.size() > 10'000) return file_.damaged("a header has no end", address);
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
    const Result<Bytes> size = file_.read(at, width);
    if (!size) return size.error();
    blocks_.push_back({at + width, Reader(*size).number(width)});
    return {};
  }

  Status read_block(std::uint64_t address, std::uint64_t size) {
    const Result<Bytes> bytes = file_.read(address, size);
    if (!bytes) return bytes.error();
    Reader reader(*bytes);
    const std::size_t prefix = new_style_ ? (tracked_ ? 6 : 4) : 8;
    while (reader.left() >= prefix) {
      const std::uint64_t type = reader.number(new_style_ ? 1 : 2), length = reader.number(2);
      reader.take(prefix - (new_style_ ? 3 : 4));
      const std::span<const std::byte> data = reader.take(std::size_t(length));
      if (!reader.ok())
        return new_style_ ? Status() : file_.damaged("a header ends early", address);
      constexpr std::uint64_t kLayout = 8, kContinued = 16;
      if (type == kLayout && !layout_) layout_.emplace(data.begin(), data.end());
      if (type != kContinued) continue;
      Reader where(data);
      const std::uint64_t offset = where.number(8), more = where.number(8);
      if (!where.ok()) return file_.damaged("a header is wrong", address);
      // New blocks have a mark in front and a checksum behind.
      if (!new_style_) blocks_.push_back({offset, more});
      if (new_style_ && more >= 8) blocks_.push_back({offset + 4, more - 8});
    }
    return {};
  }

  const IndexFile& file_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> blocks_;  // (offset, size)
  std::optional<Bytes> layout_;
  bool new_style_ = false, tracked_ = false;
};

class Tree {
 public:
  Tree(const IndexFile& file, const std::vector<std::uint64_t>& chunk, ChunkTable& table)
      : file_(file), chunk_(chunk), table_(table) {}

  // Level by level: all nodes of one are asked for together, so that a file from afar takes few
  // rounds.
  Status read(std::uint64_t root) {
    std::vector<std::uint64_t> nodes, below;
    if (root != kNowhere) nodes.push_back(root);
    for (int level = kAnyLevel; !nodes.empty(); nodes.swap(below)) {
      below.clear();
      for (std::size_t first = 0; first < nodes.size(); first += kTogether) {
        const auto some = std::span<const std::uint64_t>(nodes).subspan(first);
        Status status = read_nodes(some.first(std::min(some.size(), kTogether)), level, below);
        if (!status) return status;
      }
      level = level_ - 1;
    }
    return {};
  }

 private:
  static constexpr std::size_t kTogether = 1024;
  static constexpr int kAnyLevel = -1;  // for the root

  // `level` is what they must have. Their children are added to `below`.
  Status read_nodes(std::span<const std::uint64_t> addresses, int level,
                    std::vector<std::uint64_t>& below) {
    constexpr std::uint64_t kUsual = 64;  // children that a node has room for, if nobody says more
    std::vector<Bytes> nodes;
    for (const std::uint64_t address : addresses) {
      if (!file_.holds(address, kHead)) return file_.outside(address);
      const std::uint64_t size = std::min(file_.size() - address, kHead + kUsual * child_bytes());
      nodes.emplace_back(std::size_t(size));
    }
    if (Status status = file_.read(addresses, nodes); !status) return status;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
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
      return file_.damaged("its index of chunks is wrong", address);
    }
    level_ = int(own_level);
    if (bytes.size() - kHead >= count * child_bytes()) {
      return children(address, std::span(bytes).subspan(kHead), count, below);
    }
    const Result<Bytes> all = file_.read(address + kHead, count * child_bytes());
    if (!all) return all.error();
    return children(address, *all, count, below);
  }

  Status children(std::uint64_t address, std::span<const std::byte> bytes, std::uint64_t count,
                  std::vector<std::uint64_t>& below) {
    Reader reader(bytes);
    std::vector<std::uint64_t> cell(chunk_.size());
    for (std::uint64_t i = 0; i < count; ++i) {
      ChunkPlace place;
      place.size = reader.number(4);
      place.skipped = std::uint32_t(reader.number(4));
      for (std::size_t d = 0; d < cell.size(); ++d) {
        const std::uint64_t first = reader.number(8);
        if (first % chunk_[d] != 0) return file_.damaged("a chunk is misplaced", address);
        cell[d] = first / chunk_[d];
      }
      reader.number(8);
      place.offset = reader.number(8);
      if (level_ > 0) {
        if (++nodes_ > file_.size() / kHead) return file_.damaged("its index goes round", address);
        below.push_back(place.offset);
        continue;
      }
      if (Status status = table_.add(place, cell, address); !status) return status;
    }
    return {};
  }

  // Of a node: the part before its children, and what each takes.
  static constexpr std::uint64_t kHead = 24;
  std::uint64_t child_bytes() const noexcept { return 8 + 8 * (chunk_.size() + 1) + 8; }

  const IndexFile& file_;
  const std::vector<std::uint64_t>& chunk_;
  ChunkTable& table_;
  std::uint64_t nodes_ = 0;
  int level_ = kAnyLevel;  // of the nodes that were read last
};

// A message that says how data is laid out, up to where its kinds differ.
struct Layout {
  std::uint64_t version = 0, flags = 0;
  std::uint64_t root = kNowhere;       // of the tree; versions 1 to 3
  std::vector<std::uint64_t> extents;  // of a chunk, the last one being the bytes of an element
  std::optional<Reader> index;         // what follows; versions 4 and 5
};

// Nothing: it is not known here, or there are no chunks.
std::optional<Layout> layout_of(std::span<const std::byte> message) {
  constexpr std::uint64_t kChunked = 2;
  Reader reader(message);
  Layout layout;
  layout.version = reader.number(1);
  std::uint64_t kind = 0, dimensions = 0;
  std::size_t width = 4;  // of an extent
  if (layout.version == 1 || layout.version == 2) {
    dimensions = reader.number(1);
    kind = reader.number(1);
    reader.take(5);
    layout.root = reader.number(8);
  } else if (layout.version == 3) {
    kind = reader.number(1);
    dimensions = reader.number(1);
    layout.root = reader.number(8);
  } else if (layout.version == 4 || layout.version == 5) {
    kind = reader.number(1);
    layout.flags = reader.number(1);
    dimensions = reader.number(1);
    width = std::size_t(reader.number(1));
  }
  if (kind != kChunked || width == 0 || width > 8) return std::nullopt;
  for (std::uint64_t d = 0; d < dimensions; ++d) layout.extents.push_back(reader.number(width));
  if (!reader.ok()) return std::nullopt;
  if (layout.version > 3) layout.index = reader;
  return layout;
}

// How many bytes the index has for the size of a filtered chunk.
std::size_t size_bytes(const Layout& layout, std::uint64_t chunk_bytes) {
  if (layout.version > 4) return 8;
  const auto bits = std::size_t(std::bit_width(std::max<std::uint64_t>(chunk_bytes, 1)));
  return std::min<std::size_t>(1 + (bits + 7) / 8, 8);
}

// False: it is not known here.
Result<bool> read_new(IndexFile& file, const IndexRequest& request, const Layout& layout,
                      ChunkTable& table) {
  constexpr std::uint64_t kSingleFiltered = 2;
  enum Kind : std::uint64_t { single = 1, implicit, fixed_array, extensible_array, tree };
  if ((layout.flags & ~kSingleFiltered) != 0) return false;  // such as edges that are not filtered
  std::uint64_t chunk_bytes = 1;
  for (const std::uint64_t extent : layout.extents) {
    if (__builtin_mul_overflow(chunk_bytes, extent, &chunk_bytes)) {
      return file.damaged("a chunk is too large", request.header);
    }
  }
  table.set_entries(chunk_bytes, size_bytes(layout, chunk_bytes));
  Reader reader = *layout.index;
  const std::uint64_t kind = reader.number(1);
  ChunkPlace only{0, kNowhere, chunk_bytes, 0};
  if (kind == single && (layout.flags & kSingleFiltered) != 0) {
    only.size = reader.number(8);
    only.skipped = std::uint32_t(reader.number(4));
  }
  // Others have numbers here that their own headers have, too.
  if (kind == fixed_array) reader.take(1);
  if (kind == extensible_array) reader.take(5);
  if (kind == tree) reader.take(6);
  only.offset = reader.number(8);
  if (!reader.ok()) return file.damaged("a dataset's header is wrong", request.header);
  if (kind == 0 || kind > tree) return false;
  Status status;
  if (kind != tree && kind != single) {
    status = table.number_cells(kind == extensible_array, request.header);
  }
  if (!status) return std::move(status).error();
  if (only.offset == kNowhere) return true;
  if (kind == single) {
    status = table.add(only, std::vector<std::uint64_t>(request.shape.size()), request.header);
  } else if (kind == implicit) {
    status = table.add_all(only.offset);
  } else if (kind == fixed_array) {
    status = read_fixed_array(file, only.offset, table);
  } else if (kind == extensible_array) {
    status = read_extensible_array(file, only.offset, table);
  } else {
    status = read_tree2(file, only.offset, request.shape.size(), table);
  }
  if (!status) return std::move(status).error();
  return true;
}

}  // namespace

Result<std::optional<std::vector<ChunkPlace>>> read_chunk_index(const storage::Source& source,
                                                                const IndexRequest& request) {
  std::optional<std::vector<ChunkPlace>> found;
  IndexFile file(source, request.base, request.checksums);
  const Result<std::optional<Bytes>> message = ObjectHeader(file).layout(request.header);
  if (!message) return message.error();
  const std::optional<Layout> layout = *message ? layout_of(**message) : std::nullopt;
  if (!layout) return found;
  const auto& [header, base, shape, most, chunk, checksums] = request;
  if (layout->extents.size() != shape.size() + 1 || chunk.size() != shape.size() ||
      most.size() != shape.size() ||
      !std::equal(chunk.begin(), chunk.end(), layout->extents.begin()) ||
      std::find(chunk.begin(), chunk.end(), 0) != chunk.end()) {
    return file.damaged("its chunks have another shape than they should have", header);
  }
  ChunkTable table(file, shape, most, chunk);
  if (!layout->index) {
    Status status = Tree(file, chunk, table).read(layout->root);
    if (!status) return std::move(status).error();
  } else {
    const Result<bool> known = read_new(file, request, *layout, table);
    if (!known) return known.error();
    if (!*known) return found;
  }
  Result<std::vector<ChunkPlace>> places = table.finish();
  if (!places) return std::move(places).error();
  found = *std::move(places);
  return found;
}

}  // namespace penstock::formats::hdf5
