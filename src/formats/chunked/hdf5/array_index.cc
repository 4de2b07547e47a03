// Fixed and extensible arrays: an entry for each chunk, in blocks. Long blocks are made of pages,
// of which those that were never written are not there: bits say which are.
#include <algorithm>
#include <bit>

#include "formats/chunked/hdf5/new_indexes.h"

namespace penstock::formats::hdf5 {
namespace {

constexpr std::uint64_t kBlockHead = 4 + 1 + 1 + 8;  // mark, version, kind, address of the header

class ArrayIndex {
 public:
  ArrayIndex(IndexFile& file, std::uint64_t header, ChunkTable& table)
      : file_(file), header_(header), table_(table) {}

 protected:
  Error wrong(std::uint64_t address) const {
    return file_.damaged("its index of chunks is wrong", address);
  }

  // The first numbers of a header: what its entries are.
  Status begin(Reader& reader, std::string_view mark) {
    const bool marked = begins(reader.take(4), mark);
    const std::uint64_t version = reader.number(1);
    kind_ = reader.number(1);
    entry_ = reader.number(1);
    if (!marked || version != 0 || kind_ > 1 || entry_ != table_.entry_bytes(kind_ == 1)) {
      return wrong(header_);
    }
    return {};
  }

  // The head of any other block, which tells to which array it belongs.
  Status head(Reader& reader, std::string_view mark, std::uint64_t address) const {
    const bool marked = begins(reader.take(4), mark);
    const std::uint64_t version = reader.number(1), kind = reader.number(1);
    if (!marked || version != 0 || kind != kind_ || reader.number(8) != header_) {
      return wrong(address);
    }
    return {};
  }

  // Entries that lie one after the other.
  Status entries(Reader& reader, const IndexBlock& block) {
    for (std::uint64_t i = 0; i < block.count && block.first + i < end_; ++i) {
      const ChunkPlace place = table_.entry(reader, kind_ == 1);
      if (!reader.ok()) return wrong(block.address);
      Status status = table_.add_numbered(place, block.first + i, block.address);
      if (!status) return status;
    }
    return {};
  }

  static bool bit(std::span<const std::byte> bits, std::uint64_t number) {
    return (bits[std::size_t(number / 8)] & std::byte(0x80 >> number % 8)) != std::byte(0);
  }

  void set_page(std::uint64_t bits) {
    page_ = bits < 63 ? std::uint64_t(1) << bits : ~std::uint64_t(0);
  }

  // Of `count` entries from number `first` on, the pages that `has(k)` says are there; the first is
  // at `address`.
  template <class Has>
  Status want_pages(std::uint64_t address, std::uint64_t first, std::uint64_t count, const Has& has,
                    std::vector<IndexBlock>& pages) {
    const std::uint64_t whole = page_ * entry_ + kChecksumBytes;
    for (std::uint64_t done = 0, k = 0; done < count; done += page_, ++k) {
      if (!has(k)) continue;
      const std::uint64_t some = std::min(page_, count - done);
      Status status = file_.want(
          {address + k * whole, some * entry_ + kChecksumBytes, first + done, some}, pages);
      if (!status) return status;
    }
    return {};
  }

  Status read_pages(std::span<const IndexBlock> pages) {
    return file_.read_blocks(pages, [&](const IndexBlock& page, std::span<const std::byte> bytes) {
      Reader reader(bytes);
      return entries(reader, page);
    });
  }

  IndexFile& file_;
  const std::uint64_t header_;
  ChunkTable& table_;
  std::uint64_t kind_ = 0, entry_ = 0;     // 1: of filtered chunks; bytes of an entry
  std::uint64_t page_ = 0;                 // entries of a page
  std::uint64_t end_ = ~std::uint64_t(0);  // no entry from this one on counts
};

class FixedArray final : public ArrayIndex {
 public:
  using ArrayIndex::ArrayIndex;

  Status read() {
    constexpr std::uint64_t kBytes = 8 + 8 + 8 + kChecksumBytes;
    std::uint64_t data = 0, count = 0;
    Status status = file_.read_block(
        {header_, kBytes}, [&](const IndexBlock&, std::span<const std::byte> bytes) -> Status {
          Reader reader(bytes);
          if (Status begun = begin(reader, "FAHD"); !begun) return begun;
          set_page(reader.number(1));
          count = reader.number(8);
          data = reader.number(8);
          return {};
        });
    if (!status) return status;
    if (data == kNowhere) return {};
    // There is room for all entries, be they written or not.
    if (!file_.holds(data, 0) || count > (file_.size() - data) / entry_) {
      return file_.outside(data);
    }
    if (count > page_) return read_paged(data, count);
    return file_.read_block({data, kBlockHead + count * entry_ + kChecksumBytes, 0, count},
                            [&](const IndexBlock& block, std::span<const std::byte> bytes) {
                              Reader reader(bytes);
                              Status right = head(reader, "FADB", block.address);
                              return right.ok() ? entries(reader, block) : right;
                            });
  }

 private:
  Status read_paged(std::uint64_t data, std::uint64_t count) {
    const std::uint64_t bits = (count / page_ + (count % page_ != 0 ? 1 : 0) + 7) / 8;
    const std::uint64_t before = kBlockHead + bits + kChecksumBytes;
    std::vector<IndexBlock> pages;
    Status status = file_.read_block(
        {data, before}, [&](const IndexBlock&, std::span<const std::byte> bytes) -> Status {
          Reader reader(bytes);
          if (Status right = head(reader, "FADB", data); !right) return right;
          const std::span<const std::byte> there = reader.take(std::size_t(bits));
          return want_pages(
              data + before, 0, count, [&](std::uint64_t k) { return bit(there, k); }, pages);
        });
    return status.ok() ? read_pages(pages) : status;
  }
};

// Data blocks double in size and number. The first few are named in the index block, which has
// some entries itself; the others in super blocks.
class ExtensibleArray final : public ArrayIndex {
 public:
  using ArrayIndex::ArrayIndex;

  Status read() {
    std::uint64_t index = 0;
    Status status = file_.read_block({header_, 8 + 4 + 6 * 8 + 8 + kChecksumBytes},
                                     [&](const IndexBlock&, std::span<const std::byte> bytes) {
                                       Reader reader(bytes);
                                       Status right = begin(reader, "EAHD");
                                       return right.ok() ? read_header(reader, index) : right;
                                     });
    if (!status) return status;
    if (index == kNowhere) return {};
    if (status = read_index_block(index); !status) return status;
    status = file_.read_blocks(
        supers_, [&](const IndexBlock& block, auto bytes) { return super_block(block, bytes); });
    if (!status) return status;
    status = file_.read_blocks(blocks_, [&](const IndexBlock& block, auto bytes) -> Status {
      Reader reader(bytes);
      if (Status right = head(reader, "EADB", block.address); !right) return right;
      reader.number(offset_bytes_);
      return entries(reader, block);
    });
    return status.ok() ? read_pages(pages_) : status;
  }

 private:
  // Level u has so many data blocks, of so many entries.
  static std::uint64_t blocks_of(std::uint64_t u) { return std::uint64_t(1) << u / 2; }
  std::uint64_t entries_of(std::uint64_t u) const { return least_ << (u + 1) / 2; }
  // The number of the first one.
  std::uint64_t first_of(std::uint64_t u) const {
    return own_ + ((std::uint64_t(1) << u) - 1) * least_;
  }

  Status read_header(Reader& reader, std::uint64_t& index) {
    const std::uint64_t bits = reader.number(1);  // of the number of an entry
    own_ = reader.number(1);
    least_ = reader.number(1);
    const std::uint64_t pointers = reader.number(1);
    set_page(reader.number(1));
    reader.take(4 * 8);
    end_ = reader.number(8);
    reader.number(8);
    index = reader.number(8);
    if (bits > 60 || !std::has_single_bit(least_) || !std::has_single_bit(pointers)) {
      return wrong(header_);
    }
    const auto smallest = std::uint64_t(std::countr_zero(least_));
    if (bits < smallest) return wrong(header_);
    levels_ = 1 + bits - smallest;
    direct_ = 2 * std::uint64_t(std::countr_zero(pointers));
    if (direct_ > levels_) return wrong(header_);
    offset_bytes_ = std::size_t(bits + 7) / 8;
    return {};
  }

  Status read_index_block(std::uint64_t address) {
    std::uint64_t addresses = levels_ - direct_;
    for (std::uint64_t u = 0; u < direct_; ++u) addresses += blocks_of(u);
    const std::uint64_t size = kBlockHead + own_ * entry_ + addresses * 8 + kChecksumBytes;
    return file_.read_block(
        {address, size, 0, own_},
        [&](const IndexBlock& block, std::span<const std::byte> bytes) -> Status {
          Reader reader(bytes);
          if (Status right = head(reader, "EAIB", address); !right) return right;
          const auto own = reader.take(std::size_t(own_ * entry_));
          Reader of_own(own);
          if (Status status = entries(of_own, block); !status) return status;
          for (std::uint64_t u = 0; u < direct_; ++u) {
            if (Status status = data_blocks(reader, u, {}, address); !status) return status;
          }
          for (std::uint64_t u = direct_; u < levels_; ++u) {
            if (Status status = want_super(reader.number(8), u); !status) return status;
          }
          return {};
        });
  }

  // Pages of each data block of a level; 0: it has none.
  std::uint64_t pages_of(std::uint64_t u) const {
    return entries_of(u) > page_ ? entries_of(u) / page_ : 0;
  }
  std::uint64_t bits_of(std::uint64_t u) const { return (pages_of(u) + 7) / 8; }  // in bytes

  Status want_super(std::uint64_t address, std::uint64_t u) {
    if (address == kNowhere || first_of(u) >= end_) return {};
    std::uint64_t size = 0;  // of what each data block takes in it
    if (__builtin_mul_overflow(blocks_of(u), bits_of(u) + 8, &size) || size > file_.size()) {
      return file_.outside(address);
    }
    return file_.want({address, kBlockHead + offset_bytes_ + size + kChecksumBytes, u}, supers_);
  }

  Status super_block(const IndexBlock& block, std::span<const std::byte> bytes) {
    Reader reader(bytes);
    if (Status right = head(reader, "EASB", block.address); !right) return right;
    reader.number(offset_bytes_);
    const std::uint64_t u = block.first;
    const auto bits = reader.take(std::size_t(blocks_of(u) * bits_of(u)));
    return data_blocks(reader, u, bits, block.address);
  }

  // The data blocks of a level, by their addresses. `bits`: their pages, one after the other.
  Status data_blocks(Reader& reader, std::uint64_t u, std::span<const std::byte> bits,
                     std::uint64_t at) {
    const std::uint64_t count = entries_of(u), pages = pages_of(u);
    // Only super blocks say which pages are there.
    if (pages > 0 && bits.empty()) return wrong(at);
    for (std::uint64_t k = 0; k < blocks_of(u); ++k) {
      const std::uint64_t address = reader.number(8), first = first_of(u) + k * count;
      if (!reader.ok()) return wrong(at);
      if (address == kNowhere || first >= end_) continue;
      const std::uint64_t before = kBlockHead + offset_bytes_;
      if (!file_.holds(address, before)) return file_.outside(address);
      if (pages == 0) {
        if (count > file_.size() / entry_) return file_.outside(address);
        Status status =
            file_.want({address, before + count * entry_ + kChecksumBytes, first, count}, blocks_);
        if (!status) return status;
        continue;
      }
      if (Status status = file_.want({address, before + kChecksumBytes, first, 0}, blocks_);
          !status) {
        return status;
      }
      Status status = want_pages(
          address + before + kChecksumBytes, first, count,
          [&](std::uint64_t page) { return bit(bits, k * pages + page); }, pages_);
      if (!status) return status;
    }
    return {};
  }

  std::uint64_t own_ = 0;                    // entries of the index block
  std::uint64_t least_ = 0;                  // entries of the smallest data block
  std::uint64_t levels_ = 0, direct_ = 0;    // those that the index block names are the first
  std::size_t offset_bytes_ = 0;             // of an entry's number
  std::vector<IndexBlock> supers_, blocks_;  // of supers, `first` is the level
  std::vector<IndexBlock> pages_;
};

}  // namespace

Status read_fixed_array(IndexFile& file, std::uint64_t address, ChunkTable& table) {
  return FixedArray(file, address, table).read();
}

Status read_extensible_array(IndexFile& file, std::uint64_t address, ChunkTable& table) {
  return ExtensibleArray(file, address, table).read();
}

}  // namespace penstock::formats::hdf5
