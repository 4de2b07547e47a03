#include "formats/chunked/hdf5/chunk_index.h"

#include <algorithm>
#include <bit>

#include "formats/chunked/hdf5/chunk_table.h"
#include "formats/chunked/hdf5/index_file.h"
#include "formats/chunked/hdf5/new_indexes.h"
#include "formats/chunked/hdf5/object_header.h"

namespace penstock::formats::hdf5 {
namespace {

// The bytes of the message that says how a dataset is laid out; nothing if there is none.
Result<std::optional<Bytes>> layout_message(const IndexFile& file, std::uint64_t header) {
  std::optional<Bytes> found;
  Status status = ObjectHeader(file).each(header, [&](const Message& message) {
    if (message.kind == Message::layout) found.emplace(message.data.begin(), message.data.end());
    return !found;
  });
  if (!status) return std::move(status).error();
  return found;
}

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
  const Result<std::optional<Bytes>> message = layout_message(file, request.header);
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
