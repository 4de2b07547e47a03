// B-trees of version 2: records, such as chunks by their coordinates, in nodes of a fixed size.
// Inner nodes have records of their own, and say how many there are below.
#include "formats/chunked/hdf5/new_indexes.h"
#include "formats/chunked/hdf5/tree2.h"

namespace penstock::formats::hdf5 {
namespace {

constexpr std::uint64_t kNodeHead = 4 + 1 + 1;  // mark, version, kind

// How many bytes a number up to this one takes.
std::size_t width_of(std::uint64_t most) {
  std::size_t bytes = 1;
  while (most >>= 8) ++bytes;
  return bytes;
}

class Tree2 {
 public:
  Tree2(IndexFile& file, std::uint64_t header, const Tree2Records& records)
      : file_(file), header_(header), records_(records) {}

  // Level by level, as all nodes of one are asked for together.
  Status read() {
    IndexBlock root;
    std::uint64_t depth = 0;
    constexpr std::uint64_t kBytes = kNodeHead + 4 + 2 + 2 + 1 + 1 + 8 + 2 + 8 + kChecksumBytes;
    Status status = file_.read_block({header_, kBytes}, [&](const IndexBlock&, auto bytes) {
      return read_header(bytes, root, depth);
    });
    if (!status || root.address == kNowhere) return status;
    std::vector<IndexBlock> nodes, below;
    for (std::uint64_t level = depth;; --level) {
      if (level == depth) status = want(root.address, root.count, level, nodes);
      if (!status) return status;
      below.clear();
      status = file_.read_blocks(nodes, [&](const IndexBlock& block, auto bytes) {
        return node(block, bytes, level, below);
      });
      if (!status || level == 0) return status;
      nodes.swap(below);
    }
  }

 private:
  // What nodes of a level look like; level 0 has the leaves.
  struct Level {
    std::uint64_t most = 0;           // records of a node
    std::uint64_t most_below = 0;     // and of all nodes below, too
    std::size_t count_bytes = 0;      // of such a number; unused for leaves
    std::uint64_t pointer_bytes = 0;  // to a child
  };

  Error wrong(std::uint64_t address) const {
    return file_.damaged("its index of chunks is wrong", address);
  }

  Status read_header(std::span<const std::byte> bytes, IndexBlock& root, std::uint64_t& depth) {
    Reader reader(bytes);
    const bool marked = begins(reader.take(4), "BTHD");
    const std::uint64_t version = reader.number(1);
    kind_ = reader.number(1);
    const std::uint64_t node_bytes = reader.number(4);
    record_ = reader.number(2);
    depth = reader.number(2);
    reader.take(2);
    root.address = reader.number(8);
    root.count = reader.number(2);
    if (!marked || version != 0 || record_ == 0 || record_ != records_.bytes(kind_)) {
      return wrong(header_);
    }
    return set_levels(node_bytes, depth);
  }

  Status set_levels(std::uint64_t node_bytes, std::uint64_t depth) {
    constexpr std::uint64_t kAround = kNodeHead + kChecksumBytes;
    if (node_bytes < kAround + record_) return wrong(header_);
    const std::uint64_t leaf = (node_bytes - kAround) / record_;
    levels_.push_back({leaf, leaf, 0, 0});
    count_bytes_ = width_of(leaf);
    while (levels_.size() <= depth) {
      const Level below = levels_.back();
      Level level;
      level.pointer_bytes = 8 + count_bytes_ + below.count_bytes;
      if (node_bytes < kAround + record_ + 2 * level.pointer_bytes) return wrong(header_);
      level.most = (node_bytes - kAround - level.pointer_bytes) / (record_ + level.pointer_bytes);
      // A tree of more levels than this has more chunks than there are numbers.
      if (__builtin_mul_overflow(level.most + 1, below.most_below, &level.most_below) ||
          __builtin_add_overflow(level.most_below, level.most, &level.most_below)) {
        return wrong(header_);
      }
      level.count_bytes = width_of(level.most_below);
      levels_.push_back(level);
    }
    return {};
  }

  Status want(std::uint64_t address, std::uint64_t count, std::uint64_t level,
              std::vector<IndexBlock>& nodes) {
    const Level& kind = levels_[std::size_t(level)];
    if (count > kind.most) return wrong(address);
    const std::uint64_t pointers = level == 0 ? 0 : (count + 1) * kind.pointer_bytes;
    return file_.want({address, kNodeHead + count * record_ + pointers + kChecksumBytes, 0, count},
                      nodes);
  }

  Status node(const IndexBlock& block, std::span<const std::byte> bytes, std::uint64_t level,
              std::vector<IndexBlock>& below) {
    Reader reader(bytes);
    const bool marked = begins(reader.take(4), level == 0 ? "BTLF" : "BTIN");
    const std::uint64_t version = reader.number(1), kind = reader.number(1);
    if (!marked || version != 0 || kind != kind_) return wrong(block.address);
    for (std::uint64_t i = 0; i < block.count; ++i) {
      Reader record(reader.take(std::size_t(record_)));
      if (!reader.ok()) return wrong(block.address);
      if (Status status = records_.use(kind_, record, block.address); !status) return status;
    }
    for (std::uint64_t i = 0; level > 0 && i <= block.count; ++i) {
      const std::uint64_t address = reader.number(8), count = reader.number(count_bytes_);
      reader.number(levels_[std::size_t(level) - 1].count_bytes);
      if (!reader.ok()) return wrong(block.address);
      if (Status status = want(address, count, level - 1, below); !status) return status;
    }
    return {};
  }

  IndexFile& file_;
  const std::uint64_t header_;
  const Tree2Records& records_;
  std::vector<Level> levels_;
  std::uint64_t kind_ = 0, record_ = 0;  // bytes of a record
  std::size_t count_bytes_ = 0;          // of the number of a node's records
};

}  // namespace

Status each_record(IndexFile& file, std::uint64_t address, const Tree2Records& records) {
  return Tree2(file, address, records).read();
}

Status read_tree2(IndexFile& file, std::uint64_t address, std::size_t dimensions,
                  ChunkTable& table) {
  constexpr std::uint64_t kPlain = 10, kFiltered = 11;
  std::vector<std::uint64_t> cell(dimensions);
  Tree2Records records;
  records.bytes = [&](std::uint64_t kind) -> std::uint64_t {
    if (kind != kPlain && kind != kFiltered) return 0;
    return table.entry_bytes(kind == kFiltered) + 8 * dimensions;
  };
  records.use = [&](std::uint64_t kind, Reader& record, std::uint64_t at) {
    const ChunkPlace place = table.entry(record, kind == kFiltered);
    for (std::uint64_t& one : cell) one = record.number(8);
    return table.add(place, cell, at);
  };
  return each_record(file, address, records);
}

}  // namespace penstock::formats::hdf5
