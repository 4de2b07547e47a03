#include "formats/chunked/hdf5/index_file.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "storage/ranges.h"

namespace penstock::formats::hdf5 {

std::uint64_t Reader::number(std::size_t bytes) {
  if (rest_.size() < bytes) {
    ok_ = false;
    return 0;
  }
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) value = value << 8 | std::uint64_t(rest_[i]);
  rest_ = rest_.subspan(bytes);
  return value;
}

std::span<const std::byte> Reader::take(std::size_t bytes) {
  ok_ = ok_ && bytes <= rest_.size();
  const std::span<const std::byte> taken = rest_.first(std::min(bytes, rest_.size()));
  rest_ = rest_.subspan(taken.size());
  return taken;
}

bool begins(std::span<const std::byte> bytes, std::string_view mark) {
  return bytes.size() >= mark.size() && std::memcmp(bytes.data(), mark.data(), mark.size()) == 0;
}

// http://burtleburtle.net/bob/c/lookup3.c: hashlittle(), with 0 to begin with.
std::uint32_t checksum_of(std::span<const std::byte> bytes) noexcept {
  std::uint32_t a = 0xdeadbeef + std::uint32_t(bytes.size()), b = a, c = a;
  const auto add = [&] {
    std::uint32_t words[3] = {};
    const std::size_t count = std::min<std::size_t>(bytes.size(), 12);
    for (std::size_t i = 0; i < count; ++i) words[i / 4] |= std::uint32_t(bytes[i]) << 8 * (i % 4);
    a += words[0];
    b += words[1];
    c += words[2];
    bytes = bytes.subspan(count);
  };
  const auto step = [](std::uint32_t& x, std::uint32_t& y, std::uint32_t& z, int turn) {
    x = (x - z) ^ std::rotl(z, turn);
    z += y;
  };
  const auto last = [](std::uint32_t& x, std::uint32_t y, int turn) {
    x = (x ^ y) - std::rotl(y, turn);
  };
  while (bytes.size() > 12) {
    add();
    step(a, b, c, 4), step(b, c, a, 6), step(c, a, b, 8);
    step(a, b, c, 16), step(b, c, a, 19), step(c, a, b, 4);
  }
  if (bytes.empty()) return c;
  add();
  last(c, b, 14), last(a, c, 11), last(b, a, 25), last(c, b, 16);
  last(a, c, 4), last(b, a, 14), last(c, b, 24);
  return c;
}

Error IndexFile::damaged(const std::string& what, std::uint64_t address) const {
  return Error(Code::corrupt, "the HDF5 file is damaged: " + what)
      .in_file(source_.name())
      .at_offset(std::int64_t(std::min<std::uint64_t>(base_ + address, INT64_MAX)));
}

Error IndexFile::outside(std::uint64_t address) const {
  return damaged("something lies outside it; was it cut off?", address);
}

Result<Bytes> IndexFile::read(std::uint64_t address, std::uint64_t size) const {
  constexpr std::uint64_t kMost = std::uint64_t(16) << 20;
  if (!holds(address, size) || size > kMost) return outside(address);
  Bytes bytes{std::size_t(size)};
  if (Status status = source_.read(base_ + address, bytes); !status) {
    return std::move(status).error();
  }
  return bytes;
}

Status IndexFile::read(std::span<const std::uint64_t> addresses, std::span<Bytes> into) const {
  std::vector<storage::Read> reads;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (!holds(addresses[i], into[i].size())) return outside(addresses[i]);
    reads.push_back({base_ + addresses[i], into[i]});
  }
  std::vector<Status> outcomes(reads.size());
  storage::read_merged(source_, reads, outcomes);
  for (Status& outcome : outcomes) {
    if (!outcome.ok()) return std::move(outcome);
  }
  return {};
}

Status IndexFile::want(const IndexBlock& block, std::vector<IndexBlock>& blocks) {
  if (!holds(block.address, block.size) || block.size < kChecksumBytes) {
    return outside(block.address);
  }
  if (block.size > size() - wanted_) return damaged("its index goes round", block.address);
  wanted_ += block.size;
  blocks.push_back(block);
  return {};
}

Status IndexFile::read_blocks(std::span<const IndexBlock> blocks, const Use& use) const {
  constexpr std::size_t kTogether = 1024, kTogetherBytes = std::size_t(16) << 20;
  while (!blocks.empty()) {
    std::vector<Bytes> bytes;
    std::vector<std::uint64_t> addresses;
    std::size_t total = 0;
    for (const IndexBlock& block : blocks) {
      total += std::size_t(block.size);
      if (!bytes.empty() && (bytes.size() == kTogether || total > kTogetherBytes)) break;
      bytes.emplace_back(std::size_t(block.size));
      addresses.push_back(block.address);
    }
    if (Status status = read(addresses, bytes); !status) return status;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::size_t used = bytes[i].size() - std::size_t(kChecksumBytes);
      const auto all = std::span<const std::byte>(bytes[i]);
      if (checksums_ && Reader(all.subspan(used)).number(4) != checksum_of(all.first(used))) {
        return damaged("the checksum of its index of chunks is wrong", addresses[i]);
      }
      if (Status status = use(blocks[i], all.first(used)); !status) return status;
    }
    blocks = blocks.subspan(bytes.size());
  }
  return {};
}

Status IndexFile::read_block(const IndexBlock& block, const Use& use) {
  std::vector<IndexBlock> blocks;
  if (Status status = want(block, blocks); !status) return status;
  return read_blocks(blocks, use);
}

}  // namespace penstock::formats::hdf5
